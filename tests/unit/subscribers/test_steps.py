"""What is decided before anything is committed: types, completeness of a log, when a checkpoint is due."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pyarrow as pa
import pytest

from runnel.catalog.client import Column
from runnel.errors import UserError
from runnel.subscribers.checkpoint import Growth
from runnel.subscribers.columns import sink_columns
from runnel.subscribers.read import Delta
from runnel.subscribers.sink import Refresh
from runnel.subscribers.steps import based, is_complete, split

_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def column(name: str, type_: str) -> Column:
    return Column(1, name, type_, type_, 0, -1, False, 0, None, True, "")


def refresh(number: int, rows_out: int) -> Refresh:
    return Refresh(number, UUID(int=number), None, rows_out, _DAY)


def delta(*events: tuple[int, int]) -> Delta:
    numbers, weights = (pa.chunked_array([pa.array(v, pa.int64())]) for v in zip(*events, strict=True))
    return Delta(pa.table({"c1": pa.array(range(len(events)))}), numbers, weights)


def test_a_sum_has_its_scale_and_an_average_stays_text() -> None:
    columns = sink_columns(
        [column("total", "numeric"), column("mean", "numeric"), column("price", "numeric(10,2)")],
        {"total": 2},
    )
    assert [c.lake.text for c in columns] == ["decimal(38,2)", "varchar", "decimal(10,2)"]


def test_decimals_that_do_not_fit_are_errors() -> None:
    (total,) = sink_columns([column("total", "numeric")], {"total": 2})
    fits = total.restored(pa.chunked_array([pa.array(["-1.50", None])]))
    assert [str(value) for value in fits.to_pylist()] == ["-1.50", "None"]
    for value in ("1.234", "NaN", "Infinity", "1" + "0" * 38):
        with pytest.raises(UserError, match="the column total"):
            total.restored(pa.chunked_array([pa.array([value])]))


def test_a_log_is_complete_when_it_holds_what_history_says() -> None:
    refreshes = [refresh(3, 2), refresh(4, 0), refresh(5, 3)]
    whole = delta((3, -1), (3, 1), (5, 3))
    assert is_complete(refreshes, whole, 2, 5)
    assert not is_complete(refreshes[1:], whole, 2, 5)
    assert not is_complete(refreshes, delta((3, -1), (5, 3)), 2, 5)
    parts = {found.number: rows.column(0).to_pylist() for found, rows, _ in split(refreshes, whole)}
    assert parts == {3: [0, 1], 4: [], 5: [2]}


def test_the_base_says_which_refresh_it_is_of_even_when_it_is_empty() -> None:
    rows = based(pa.table({"c1": pa.array([], pa.string())}), 7)
    assert rows.to_pylist() == [{"c1": None, "c2": 0, "c3": 7}]


@pytest.mark.parametrize(
    ("growth", "is_due"),
    [
        (Growth(10, 50, 100, 50), False),
        (Growth(10, 51, 100, 51), True),
        (Growth(1_000_000, 200, 50_000, 200), False),
        (Growth(1_000_000, 200, 100_001, 200), True),
        (Growth(10, 1, 2_001, 1), True),
    ],
)
def test_when_a_checkpoint_is_due(growth: Growth, is_due: bool) -> None:
    assert growth.needs_checkpoint == is_due
