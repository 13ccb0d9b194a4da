"""The law of the append view: base + tail = the rows that live, whatever the history and wherever the base is."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runnel.lake.spec import DataType, TableName
from runnel.subscribers.columns import SinkColumn
from runnel.subscribers.view import append_view, replace_view

_COLUMNS = (
    SinkColumn("k", "text", DataType("varchar")),
    SinkColumn("a value", "bigint", DataType("int64")),
    SinkColumn("x", "double precision", DataType("float64")),
)
_LOG, _BASE = TableName("main", "s__log"), TableName("main", "s__base")
Row = tuple[str | None, int | None, float | None]
_keys = st.sampled_from(["a", "b", "", None])
_values = st.sampled_from([1, 2, None])
_floats = st.sampled_from([0.0, -0.0, 1.5, None])


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:")
    columns = 'k VARCHAR, "a value" BIGINT, x DOUBLE, _weight BIGINT, _refresh BIGINT'
    connection.execute(f"CREATE TABLE s__log ({columns}); CREATE TABLE s__base ({columns})")
    return connection


def image(row: Row) -> tuple[str, ...]:
    return tuple(map(repr, row))


def shown(
    duck: duckdb.DuckDBPyConnection,
    key: tuple[str, ...],
    history: list[list[tuple[Row, int]]],
    base_at: int | None,
    at_base: Counter[Row],
) -> Counter[tuple[str, ...]]:
    duck.execute("DELETE FROM s__log; DELETE FROM s__base")
    logged = [(*row, w, n) for n, events in enumerate(history, 1) for row, w in events]
    if logged:
        duck.executemany("INSERT INTO s__log VALUES (?, ?, ?, ?, ?)", logged)
    if base_at is not None:
        kept = [(*row, 1, base_at) for row in at_base.elements()]
        duck.executemany(
            "INSERT INTO s__base VALUES (?, ?, ?, ?, ?)", [*kept, (None, None, None, 0, base_at)]
        )
    sql = append_view(_COLUMNS, key, _LOG, _BASE).replace("{DUCKLAKE_CATALOG}", "memory")
    return Counter(image(row) for row in duck.execute(sql).fetchall())


@given(
    st.lists(st.dictionaries(_keys, st.none() | st.tuples(_values, _floats)), max_size=8), st.integers(0, 8)
)
@settings(max_examples=60)
def test_keyed(
    duck: duckdb.DuckDBPyConnection,
    changes: list[dict[str | None, tuple[int | None, float | None] | None]],
    base_at: int,
) -> None:
    """Each refresh sets some keys to new values, or removes them."""
    alive: dict[str | None, Row] = {}
    history: list[list[tuple[Row, int]]] = []
    at_base: Counter[Row] = Counter()
    for number, change in enumerate(changes, 1):
        events: list[tuple[Row, int]] = []
        for key, value in change.items():
            if key in alive:
                events.append((alive.pop(key), -1))
            if value is not None:
                alive[key] = (key, *value)
                events.append((alive[key], 1))
        history.append(events[::-1] if number % 2 else events)  # the order within a refresh means nothing
        if number == base_at:
            at_base = Counter(alive.values())
    found = shown(duck, ("k",), history, base_at if 0 < base_at <= len(changes) else None, at_base)
    assert found == Counter(image(row) for row in alive.values())


@given(st.lists(st.lists(st.tuples(st.tuples(_keys, _values, _floats), st.integers(-2, 3))), max_size=8))
@settings(max_examples=60)
def test_bag(duck: duckdb.DuckDBPyConnection, changes: list[list[tuple[Row, int]]]) -> None:
    """Weights add up; no row is ever removed more often than it is there."""
    alive: Counter[tuple[str, ...]] = Counter()
    history: list[list[tuple[Row, int]]] = []
    for change in changes:
        events: list[tuple[Row, int]] = []
        for row, weight in change:
            weight = max(weight, -alive[image(row)])
            alive[image(row)] += weight
            if weight:
                events.append((row, weight))
        history.append(events)
    assert shown(duck, (), history, None, Counter()) == +alive


def test_the_text() -> None:
    assert replace_view(_COLUMNS, TableName("main", "s__data")) == (
        'SELECT "k", "a value", "x" FROM {DUCKLAKE_CATALOG}."main"."s__data"'
    )
    assert (
        append_view(_COLUMNS[:2], ("k",), _LOG, _BASE)
        == """\
WITH base AS MATERIALIZED (SELECT "k" AS c1, "a value" AS c2, _weight AS w, _refresh AS n \
FROM {DUCKLAKE_CATALOG}."main"."s__base"),
events AS (
  FROM base WHERE w <> 0
  UNION ALL
  SELECT "k" AS c1, "a value" AS c2, _weight AS w, _refresh AS n \
FROM {DUCKLAKE_CATALOG}."main"."s__log" WHERE _refresh > (SELECT coalesce(max(n), 0) FROM base)
)
SELECT last.c1 AS "k", last.c2 AS "a value"
FROM (SELECT arg_max(struct_pack(c1 := c1, c2 := c2, w := w), 2 * n + (w > 0)::BIGINT) AS last \
FROM events GROUP BY c1)
WHERE last.w > 0"""
    )
