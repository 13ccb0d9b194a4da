"""Rows that lie in the catalog itself: fetched as text and cast by DuckDB, as it wrote them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql

from runnel.errors import TransientError
from runnel.lake.catalog import Connection, LakeCatalog
from runnel.lake.connection import connect_catalog
from runnel.lake.files.window import Window
from runnel.lake.spec import Column, InlinedTable, Table

_BYTES = {"varchar", "json", "blob"}  # kept as bytea
_SYSTEM = (("row_id", pa.int64()), ("begun", pa.int64()), ("ended", pa.int64()))
# PostgreSQL prints intervals in words that depend on settings; DuckDB reads plain units.
_INTERVAL = """
    extract(year FROM {0}) * 12 + extract(month FROM {0}) || ' months '
    || extract(day FROM {0}) || ' days '
    || ((extract(hour FROM {0}) * 60 + extract(minute FROM {0})) * 60000000
        + extract(microseconds FROM {0}))::bigint || ' microseconds'
"""


@dataclass(frozen=True, slots=True)
class RemoteRows:
    """Inlined rows that a worker fetches itself, with a check that they were not flushed meanwhile."""

    dsn: str
    catalog: LakeCatalog
    table: Table
    inlined: tuple[InlinedTable, ...]
    planned_at: int  # the newest snapshot when this was planned

    def fetch(self, columns: Sequence[Column], window: Window) -> pa.Table:
        with connect_catalog(self.dsn) as conn:
            conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            conn.read_only = True
            newest = self.catalog.newest(conn).snapshot_id
            for tokens in self.catalog.changes(conn, self.planned_at, newest).values():
                if ("inline_flush", str(self.table.table_id)) in tokens:
                    raise TransientError(
                        f"inlined rows of {self.table.name} were flushed while it was read",
                        hint="read it again",
                    )
            return fetch_rows(conn, self.catalog, self.inlined, columns, window)

    def __repr__(self) -> str:
        return f"RemoteRows({self.table.name}, planned at {self.planned_at})"


@dataclass(frozen=True, slots=True)
class CarriedRows:
    """Inlined rows that travel with their task, as an Arrow stream."""

    columns: tuple[Column, ...]
    stream: bytes

    def fetch(self, columns: Sequence[Column], window: Window) -> pa.Table:  # noqa: ARG002
        rows = pa.ipc.open_stream(self.stream).read_all()
        positions = [self.columns.index(column) for column in columns]
        names = [f"c{position}" for position in positions] + [name for name, _ in _SYSTEM]
        renamed = [f"c{i}" for i in range(len(columns))] + [name for name, _ in _SYSTEM]
        return rows.select(names).rename_columns(renamed)


def carry_rows(
    conn: Connection,
    catalog: LakeCatalog,
    inlined: Sequence[InlinedTable],
    columns: Sequence[Column],
    window: Window,
) -> CarriedRows:
    rows = fetch_rows(conn, catalog, inlined, columns, window)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return CarriedRows(tuple(columns), sink.getvalue().to_pybytes())


def has_rows(conn: Connection, catalog: LakeCatalog, inlined: InlinedTable, window: Window) -> bool:
    query = sql.SQL("SELECT EXISTS (SELECT FROM {} WHERE {})").format(
        sql.Identifier(catalog.schema, inlined.name), _condition(window)
    )
    row = conn.execute(query).fetchone()
    return row is not None and bool(row[0])


def fetch_rows(
    conn: Connection,
    catalog: LakeCatalog,
    inlined: Sequence[InlinedTable],
    columns: Sequence[Column],
    window: Window,
) -> pa.Table:
    """Rows as c0, c1, … in text (or bytes, for a blob), then their row id, beginning and end."""
    schema = pa.schema([(f"c{i}", _carried_type(column)) for i, column in enumerate(columns)] + list(_SYSTEM))
    parts = [
        _as_arrow(schema, conn.execute(_select(catalog, source, columns, window)).fetchall())
        for source in inlined
    ]
    return pa.concat_tables(parts) if parts else schema.empty_table()


def cast_sql(columns: Sequence[Column], source: str) -> str:
    """SQL that gives carried rows the columns' own types."""
    casts = "".join(f"CAST(c{i} AS {column.duckdb}) AS c{i}, " for i, column in enumerate(columns))
    return f"SELECT {casts}row_id, begun, ended FROM {source}"


def _carried_type(column: Column) -> pa.DataType:
    return pa.binary() if column.type.text == "blob" else pa.string()


def _as_arrow(schema: pa.Schema, rows: list[tuple[Any, ...]]) -> pa.Table:
    arrays = []
    for position, field in enumerate(schema):
        values = [row[position] for row in rows]
        if field.type == pa.string():
            values = [value.decode() if isinstance(value, bytes) else value for value in values]
        arrays.append(pa.array(values, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _select(
    catalog: LakeCatalog, source: InlinedTable, columns: Sequence[Column], window: Window
) -> sql.Composed:
    stored = {column.column_id: column for column in source.columns}
    expressions = [_expression(column, stored.get(column.column_id)) for column in columns]
    return sql.SQL("SELECT {} FROM {} WHERE {}").format(
        sql.SQL(", ").join(
            [*expressions, *(sql.SQL(name) for name in ("row_id", "begin_snapshot", "end_snapshot"))]
        ),
        sql.Identifier(catalog.schema, source.name),
        _condition(window),
    )


def _condition(window: Window) -> sql.SQL:
    return sql.SQL(window.condition("begin_snapshot", "end_snapshot"))


def _default(column: Column) -> str | bytes | None:
    """DuckDB writes the bytes of a blob that are no plain characters as `\\xAA`."""
    text = column.initial_default
    if text is None or column.type.text != "blob":
        return text
    return re.sub(rb"\\x([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found[1].decode()), text.encode())


def _expression(wanted: Column, stored: Column | None) -> sql.Composable:
    if stored is None:  # the column came later: what it holds for older rows
        return sql.Literal(_default(wanted))
    name = sql.Identifier(stored.name)
    if stored.type.text in _BYTES:
        return name
    if stored.type.text == "interval":
        return sql.SQL(_INTERVAL).format(name)
    return sql.SQL("{}::text").format(name)
