"""Who is due: pure, so every case is a line."""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf
from typing import Any

from runnel.catalog.client import Dependency, StreamTable
from runnel.errors import InternalError, RunnelError, TransientError, UserError
from runnel.scheduler.due import Memory, due, failed, looked_at, next_at

START = 100.0


def table(pgt_id: int, *upstreams: int, **changes: Any) -> StreamTable:
    fields: dict[str, Any] = {
        "pgt_id": pgt_id,
        "relid": 1000 + pgt_id,
        "view_relid": 2000 + pgt_id,
        "schema": "public",
        "name": f"s{pgt_id}",
        "owner_oid": 10,
        "owner": "alice",
        "query": "SELECT 1",
        "schedule": "1s",
        "schedule_ms": 1000,
        "refresh_mode": "AUTO",
        "sink": None,
        "sink_mode": None,
        "status": "active",
        "is_populated": True,
        "generation": 1,
        "refresh_number": 1,
        "frontier": "1:1:",
        "effective_mode": "DIFFERENTIAL",
        "reason": None,
        "settings": {},
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
        "refreshed_at": None,
        "has_subscribers": False,
        "has_view": True,
        "columns": (),
        "dependencies": tuple(Dependency(1000 + up, "stream", "public", f"s{up}", (), upstream_id=up)
                              for up in upstreams),
    }  # fmt: skip
    return StreamTable(**(fields | changes))


def tables(*found: StreamTable) -> dict[int, StreamTable]:
    return {each.pgt_id: each for each in found}


def test_a_new_one_is_due_at_once_and_then_by_its_schedule() -> None:
    one = table(1, schedule_ms=200)
    assert due(tables(one), {}, START) == {1}
    memories = {1: looked_at(one, START)}
    assert due(tables(one), memories, START + 0.19) == set()
    assert due(tables(one), memories, START + 0.2) == {1}
    assert next_at(tables(one), memories, START) == START + 0.2


def test_an_altered_one_is_due_at_once() -> None:
    memories = {1: looked_at(table(1), START)}
    altered = table(1, generation=2)
    assert due(tables(altered), memories, START) == {1}
    assert next_at(tables(altered), memories, START) == START


def test_a_suspended_one_is_never_due_and_resuming_alters_it() -> None:
    assert due(tables(table(1, status="suspended")), {}, START) == set()
    assert next_at(tables(table(1, status="suspended")), {}, START) == inf
    memories = {1: Memory(1, inf)}
    assert due(tables(table(1, generation=2)), memories, START) == {1}


def test_what_failed_before_the_engine_started_is_tried_once() -> None:
    assert due(tables(table(1, status="error")), {}, START) == {1}


def repeated(error: RunnelError, times: int, **changes: Any) -> list[float]:
    one, known, waits = table(1, **changes), None, []
    for _ in range(times):
        known = failed(one, known, error, START)
        waits.append(round(known.not_before - START, 3))
    return waits


def test_the_users_error_waits_until_the_stream_table_is_altered() -> None:
    assert repeated(UserError("no"), 2) == [inf, inf]


def test_what_may_pass_is_tried_again_soon_and_never_later_than_the_schedule() -> None:
    assert repeated(TransientError("locked"), 6) == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert repeated(TransientError("locked"), 3, schedule_ms=200) == [0.1, 0.2, 0.2]
    assert repeated(TransientError("locked"), 12, schedule_ms=86_400_000)[-1] == 30.0


def test_a_bug_or_the_users_data_is_tried_again_now_and_then() -> None:
    assert repeated(InternalError("division by zero"), 8) == [1, 2, 4, 8, 16, 32, 60, 60]


def test_failures_are_counted_anew_once_it_was_altered() -> None:
    known = failed(table(1), None, TransientError("locked"), START)
    assert failed(table(1), known, TransientError("locked"), START).failures == 2
    assert failed(table(1, generation=2), known, TransientError("locked"), START).failures == 1


def test_nobody_is_dragged_into_a_first_fill_that_must_not_be_tried() -> None:
    upstream, reader, further = table(1, is_populated=False), table(2, 1), table(3, 2)
    memories = {1: Memory(1, inf, 1)}
    assert due(tables(upstream, reader, further), memories, START) == set()
    filled = table(1)
    assert due(tables(filled, reader, further), memories, START) == {2, 3}
