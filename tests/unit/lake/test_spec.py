"""Names, types and statistics of a lake, without any server."""

from __future__ import annotations

import time
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runnel.errors import UserError
from runnel.lake.spec import (
    Column,
    ColumnStatistics,
    DataType,
    TableColumnStatistics,
    describe_change,
    flatten,
    merge_statistics,
    near_names,
    new_columns,
    split_changes,
    table_path,
    uuid7,
)

_INT, _TEXT, _TIME = DataType("int64"), DataType("varchar"), DataType("timestamptz")


@given(st.lists(st.text(min_size=1), min_size=2, max_size=2))
def test_change_tokens_survive_any_name(names: list[str]) -> None:
    token = describe_change("created_table", tuple(names))
    changes = f"inlined_insert:3,{token},dropped_view:7"
    assert [kind for kind, _ in split_changes(changes)] == ["inlined_insert", "created_table", "dropped_view"]
    assert f"created_table:{split_changes(changes)[1][1]}" == token


def test_ids_sort_by_time() -> None:
    earlier = uuid7()
    time.sleep(0.002)
    later = uuid7()
    assert earlier < later
    assert (earlier.version, earlier.variant) == (7, UUID(int=0x8 << 60).variant)


def test_paths_of_unusual_names_fall_back_on_the_id() -> None:
    uuid = uuid7()
    assert table_path("A-b_1", uuid) == "A-b_1/"
    assert table_path("ä b", uuid) == f"{uuid}/"


def test_near_names() -> None:
    assert near_names("main.order", ["main.orders", "main.x", "lake.y"]) == ["main.orders"]
    assert near_names("zzz", ["main.b", "main.a"]) == ["main.a", "main.b"]


@pytest.mark.parametrize(
    ("postgres", "lake"),
    [
        ("numeric(10,2)", "decimal(10,2)"),
        ("numeric(38, 4)", "decimal(38,4)"),
        ("bigint", "int64"),
        ("character varying(30)", "varchar"),
        ("timestamp with time zone", "timestamptz"),
        ("timestamp(3) without time zone", "timestamp"),
        ("double precision", "float64"),
        ("jsonb", "json"),
    ],
)
def test_types_of_postgres(postgres: str, lake: str) -> None:
    assert DataType.from_postgres(postgres) == DataType(lake)


@pytest.mark.parametrize("postgres", ["numeric", "numeric(50,2)", "point", "int4range", "text[]"])
def test_types_without_a_counterpart_are_refused_by_name(postgres: str) -> None:
    with pytest.raises(UserError, match=r"the type .* has no counterpart in the lake"):
        DataType.from_postgres(postgres)


def test_every_flat_type_goes_round_through_arrow() -> None:
    for text in (
        "boolean",
        "int8",
        "int64",
        "uint32",
        "float64",
        "varchar",
        "blob",
        "date",
        "time",
        "timestamp",
    ):
        assert DataType.from_arrow(DataType(text).arrow) == DataType(text)
    assert DataType.from_arrow(pa.decimal128(38, 2)) == DataType("decimal(38,2)")
    assert DataType.from_arrow(pa.timestamp("us", "Europe/Berlin")) == DataType("timestamptz")
    with pytest.raises(UserError, match="geometry is not supported yet"):
        _ = DataType("geometry").arrow


def test_nested_types_are_built_from_their_parts() -> None:
    element = Column(2, "element", DataType("int32"))
    deep = Column(3, "s", DataType("struct"), children=(Column(4, 'odd "name"', DataType("uuid")),))
    column = Column(1, "m", DataType("map"), children=(element, deep))
    assert column.duckdb == 'MAP(INTEGER, STRUCT("odd ""name""" UUID))'
    assert column.exported == 'MAP(INTEGER, STRUCT("odd ""name""" VARCHAR))'
    assert [part.column_id for part in flatten((column,))] == [1, 2, 3, 4]
    assert [column.column_id for column in new_columns([("a", _INT), ("b", _TEXT)])] == [1, 2]


def added(low: str | None, high: str | None, values: int = 1, nulls: int = 0) -> ColumnStatistics:
    return ColumnStatistics(10, values, nulls, low, high)


@pytest.mark.parametrize(
    ("kind", "known", "low", "high", "merged"),
    [
        (_INT, ("9", "10"), "-3", "100", ("-3", "100")),
        (_TEXT, ("b", "ü"), "a", "z", ("a", "ü")),
        (DataType("decimal(10,2)"), ("-1.50", "9.00"), "-10.00", "10.00", ("-10.00", "10.00")),
        (DataType("float64"), ("-inf", "1.5"), "2", "1e300", ("-inf", "1e300")),
        (_TIME, ("2020-01-01 00:00:00+00",) * 2, "2020-01-01 00:00:00.5+00", "2020-01-02 00:00:00+00",
         ("2020-01-01 00:00:00+00", "2020-01-02 00:00:00+00")),
        (DataType("boolean"), ("0", "0"), "true", "true", ("0", "true")),
    ],
)  # fmt: skip
def test_bounds_cover_both(
    kind: DataType, known: tuple[str, str], low: str, high: str, merged: tuple[str, str]
) -> None:
    found = merge_statistics(kind, TableColumnStatistics(False, None, *known), added(low, high))
    assert found == TableColumnStatistics(False, None, *merged)


def test_unknown_bounds_cost_the_entry() -> None:
    known = TableColumnStatistics(False, None, "a", "b")
    assert merge_statistics(_TEXT, known, added(None, None)) is None
    assert merge_statistics(DataType("int128"), known, added("1", "2")) is None
    years = TableColumnStatistics(False, None, "2020-01-01 00:00:00+00", "2020-01-01 00:00:00+00")
    assert merge_statistics(_TIME, years, added("12020-01-01 00:00:00+00", "12020-01-01 00:00:00+00")) is None


def test_nulls_alone_leave_the_bounds_as_they_are() -> None:
    found = merge_statistics(_INT, None, added(None, None, values=0, nulls=3))
    assert found == TableColumnStatistics(True, None, None, None)
    assert merge_statistics(_INT, found, added("1", "2")) == TableColumnStatistics(True, None, "1", "2")
