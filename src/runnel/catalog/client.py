"""Reads the catalog and writes what the engine has to say in it; never commits by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Literal, TypeAlias

from runnel.catalog.connection import Connection

Kind: TypeAlias = Literal["table", "stream", "lake"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the catalog describes it; `type` holds the modifier, as in numeric(10,2)."""

    attnum: int
    name: str
    type: str
    type_name: str
    type_oid: int
    typmod: int
    not_null: bool
    collation_oid: int
    collation: str | None
    is_deterministic: bool
    generated: str


@dataclass(frozen=True, slots=True)
class Dependency:
    """What a stream table reads; name is None where the relation is gone."""

    relid: int
    kind: Kind
    schema: str | None
    name: str | None
    columns: tuple[Column, ...]
    capture_id: int | None = None
    upstream_id: int | None = None
    consumed: int | None = None
    lake_id: int | None = None
    lake_schema: str | None = None
    lake_table: str | None = None


@dataclass(frozen=True, slots=True)
class StreamTable:
    """One row of the catalog with the present names of its relations."""

    pgt_id: int
    relid: int
    view_relid: int
    schema: str | None
    name: str | None
    owner_oid: int
    owner: str
    query: str
    schedule: str
    schedule_ms: int
    refresh_mode: Literal["AUTO", "DIFFERENTIAL", "FULL"]
    sink: Literal["ducklake"] | None
    sink_mode: Literal["append", "replace"] | None
    status: Literal["pending", "active", "suspended", "error"]
    is_populated: bool
    generation: int
    refresh_number: int
    frontier: str | None
    effective_mode: str | None
    reason: str | None
    settings: Mapping[str, str]
    created_at: datetime
    refreshed_at: datetime | None
    has_subscribers: bool
    has_view: bool
    dependencies: tuple[Dependency, ...]
    columns: tuple[Column, ...]

    @property
    def exists(self) -> bool:
        """Whether its result and its view are both there; either can be dropped by hand."""
        return self.name is not None and self.has_view

    @property
    def qualified_name(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class Lake:
    lake_id: int
    name: str
    catalog: str | None
    metadata_schema: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class DroppedSink:
    """A sink whose stream table is gone, or publishes no longer."""

    dropped_id: int
    lake_id: int
    pgt_id: int
    relid: int
    schema: str | None
    name: str | None
    sink_mode: Literal["append", "replace"]


def load_stream_tables(conn: Connection) -> tuple[StreamTable, ...]:
    """All stream tables with what they read, as the connection's snapshot sees them."""
    rows = conn.execute(query_text("stream_tables")).fetchall()
    edges = conn.execute(query_text("dependencies")).fetchall()
    columns = columns_of(conn, {row[1] for row in rows} | {edge[1] for edge in edges})
    sources: dict[int, list[Dependency]] = defaultdict(list)
    for pgt_id, relid, kind, schema, name, *rest in edges:
        sources[pgt_id].append(Dependency(relid, kind, schema, name, columns.get(relid, ()), *rest))
    return tuple(
        StreamTable(*(*row, tuple(sources[row[0]]), columns.get(row[1], ())))  # fields in the query's order
        for row in rows
    )


def columns_of(conn: Connection, relids: Collection[int]) -> dict[int, tuple[Column, ...]]:
    found: dict[int, list[Column]] = defaultdict(list)
    for relid, *fields in conn.execute(query_text("columns"), [list(relids)]):
        found[relid].append(Column(*fields))
    return {relid: tuple(columns) for relid, columns in found.items()}


def view_columns(conn: Connection, view_relid: int) -> tuple[Column, ...]:
    return columns_of(conn, [view_relid]).get(view_relid, ())


def view_definition(conn: Connection, view_relid: int) -> str:
    """The query in PostgreSQL's canonical text: names resolved, stars expanded, casts written out."""
    with conn.transaction():
        previous = _text(conn, "SELECT pg_catalog.current_setting('search_path')")
        _set_path(conn, "pg_catalog")
        text = _text(conn, "SELECT pg_catalog.pg_get_viewdef(%s::oid)", view_relid)
        _set_path(conn, previous)
    return text.strip().removesuffix(";")


def load_lakes(conn: Connection) -> tuple[Lake, ...]:
    rows = conn.execute(
        "SELECT lake_id, lake_name, catalog, metadata_schema, is_own"
        " FROM pgtrickle.pgt_lakes ORDER BY lake_id"
    )
    return tuple(Lake(*row) for row in rows)


def check_rights(conn: Connection, pgt_id: int) -> str | None:
    """Why this stream table may not be refreshed, or None; asked in the reader's own snapshot."""
    return _reason(conn, "SELECT message, hint FROM pgtrickle._problems(%s) LIMIT 1", pgt_id)


def check_result(conn: Connection, pgt_id: int) -> str | None:
    """Why the result may not be written to, or None; asked in the apply under its lock on the result."""
    return _reason(
        conn,
        "SELECT p.message, p.hint FROM pgtrickle.pgt_stream_tables AS t"
        " CROSS JOIN LATERAL pgtrickle._result_problems(t.relid, t.view_relid) AS p"
        " WHERE t.pgt_id = %s LIMIT 1",
        pgt_id,
    )


def record_failure(
    conn: Connection, pgt_id: int, *, status: Literal["suspended", "error"], reason: str
) -> None:
    """Show why a stream table is not fresh; a refresh that succeeds sets it active again."""
    conn.execute(
        "UPDATE pgtrickle.pgt_stream_tables SET status = %s, reason = %s WHERE pgt_id = %s",
        [status, reason, pgt_id],
    )


def renew_captures(conn: Connection) -> tuple[int, ...]:
    """Stream tables that have to be filled anew, because triggers of a source were disabled for a while."""
    return tuple(row[0] for row in conn.execute("SELECT pgtrickle._renew_captures()"))


def remove_orphans(conn: Connection) -> tuple[int, ...]:
    """Forget stream tables whose result was dropped by hand, with all that the engine keeps for them."""
    return tuple(row[0] for row in conn.execute("SELECT pgtrickle._remove_orphans()"))


def setting(conn: Connection, name: str) -> str | None:
    row = conn.execute("SELECT pgtrickle.setting(%s)", [name]).fetchone()
    return None if row is None else row[0]


def dropped_sinks(conn: Connection) -> tuple[DroppedSink, ...]:
    """Sinks whose view is to be removed from the lake."""
    rows = conn.execute(
        "SELECT dropped_id, lake_id, pgt_id, relid, schema_name, table_name, sink_mode"
        " FROM pgtrickle.pgt_dropped_sinks ORDER BY dropped_id"
    )
    return tuple(DroppedSink(*row) for row in rows)


def forget_dropped_sink(conn: Connection, dropped_id: int) -> None:
    conn.execute("DELETE FROM pgtrickle.pgt_dropped_sinks WHERE dropped_id = %s", [dropped_id])


def _reason(conn: Connection, query: str, pgt_id: int) -> str | None:
    row = conn.execute(query.encode(), [pgt_id]).fetchone()
    return None if row is None else f"{row[0]} ({row[1]})" if row[1] else str(row[0])


def _text(conn: Connection, query: str, *parameters: object) -> str:
    row = conn.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return str(row[0])


def _set_path(conn: Connection, path: str) -> None:
    conn.execute("SELECT pg_catalog.set_config('search_path', %s, true)", [path])


def query_text(name: str) -> bytes:
    """A named query of this room."""
    return files("runnel.catalog").joinpath("sql", "queries", f"{name}.sql").read_bytes()
