"""Decides which stream tables are due: pure functions over the catalog's rows and what the loop remembers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from runnel.catalog.client import StreamTable
from runnel.errors import RunnelError, TransientError, UserError
from runnel.refresh import plan

Tables = Mapping[int, StreamTable]

_TRANSIENT_FIRST, _TRANSIENT_LONGEST = 0.1, 30.0
_INTERNAL_FIRST, _INTERNAL_LONGEST = 1.0, 60.0


@dataclass(frozen=True, slots=True)
class Memory:
    """What the loop remembers of a stream table; times are seconds of a monotonic clock."""

    generation: int
    not_before: float
    failures: int = 0


Memories = Mapping[int, Memory]


def due(tables: Tables, memories: Memories, now: float) -> frozenset[int]:
    """Those whose time has come, that may run, and whose upstreams can give them something to read."""
    ready = {table.pgt_id for table in tables.values() if _is_ready(table, memories, now)}
    return frozenset(pgt_id for pgt_id in ready if not _is_blocked(tables, ready, pgt_id))


def next_at(tables: Tables, memories: Memories, now: float) -> float:
    """When the next one is due, if nothing happens until then."""
    times = [
        memories[table.pgt_id].not_before if _is_known(table, memories) else now
        for table in tables.values()
        if _may_run(table)
    ]
    return min(times, default=inf)


def looked_at(table: StreamTable, started: float) -> Memory:
    """After a refresh, or after seeing that nothing had changed: the schedule counts from the start."""
    return Memory(table.generation, started + table.schedule_ms / 1000)


def failed(table: StreamTable, known: Memory | None, error: RunnelError, now: float) -> Memory:
    """What may pass by itself is tried again soon, a bug or the user's data now and then.

    What the user wrote is not tried again until the stream table is altered.
    """
    failures = 1 + (known.failures if known and known.generation == table.generation else 0)
    if isinstance(error, UserError):
        wait = inf
    elif isinstance(error, TransientError):
        longest = min(_TRANSIENT_LONGEST, max(table.schedule_ms / 1000, _TRANSIENT_FIRST))
        wait = _backoff(_TRANSIENT_FIRST, longest, failures)
    else:
        wait = _backoff(_INTERNAL_FIRST, _INTERNAL_LONGEST, failures)
    return Memory(table.generation, now + wait, failures)


def _backoff(first: float, longest: float, failures: int) -> float:
    return min(first * 2.0 ** min(failures - 1, 20), longest)


def _is_ready(table: StreamTable, memories: Memories, now: float) -> bool:
    return _may_run(table) and (not _is_known(table, memories) or memories[table.pgt_id].not_before <= now)


def _may_run(table: StreamTable) -> bool:
    return table.status != "suspended"


def _is_known(table: StreamTable, memories: Memories) -> bool:
    """An altered one is a new one: it is due at once."""
    known = memories.get(table.pgt_id)
    return known is not None and known.generation == table.generation


def _is_blocked(tables: Tables, ready: set[int], pgt_id: int) -> bool:
    """Whether it would drag along an upstream that was never filled and must not be tried now."""
    return any(
        not tables[upstream].is_populated and upstream not in ready
        for upstream in plan.ancestors(tables, pgt_id)
    )
