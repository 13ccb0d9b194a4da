"""Where a sink lies in the lake: its view, the tables below it, and how they find each other again.

The view bears the stream table's name; each table below it that name with a suffix: `__log` and `__base` in
append, `__data` in replace. The view's tags hold the identities of the tables, so renames in PostgreSQL or in
the lake lose nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from runnel.catalog.connection import Connection
from runnel.errors import SchemaError, UserError
from runnel.lake.catalog import LakeCatalog
from runnel.lake.commit import Change, CreateTable
from runnel.lake.files import WriteOptions
from runnel.lake.spec import DataType, Table, TableName, ViewDefinition, new_columns
from runnel.lake.view import drop_view, find_view, register_view, tagged_views
from runnel.subscribers.columns import SinkColumn, existing_columns, sink_columns
from runnel.subscribers.sink import Sink, load_columns, load_key
from runnel.subscribers.view import (
    CHANGE,
    REFRESH,
    REFRESH_ID,
    REFRESHED_AT,
    WEIGHT,
    append_view,
    replace_view,
)

_EXTRA = {
    "log": (
        (CHANGE, DataType("varchar")),
        (WEIGHT, DataType("int64")),
        (REFRESH, DataType("int64")),
        (REFRESH_ID, DataType("uuid")),
        (REFRESHED_AT, DataType("timestamptz")),
    ),
    "base": ((WEIGHT, DataType("int64")), (REFRESH, DataType("int64"))),
    "data": (),
}
_ROLES = {"append": ("log", "base"), "replace": ("data",)}
PGT_ID, RELID, MODE = "runnel.pgt_id", "runnel.stream_table_oid", "runnel.sink_mode"


@dataclass(frozen=True, slots=True)
class Layout:
    """One sink in the lake as it is, or as its first publication will make it."""

    catalog: LakeCatalog
    columns: tuple[SinkColumn, ...]
    tables: Mapping[str, Table]  # by role
    options: WriteOptions
    view: TableName
    view_sql: str
    tags: tuple[tuple[str, str], ...]
    found: ViewDefinition | None  # the view that is there

    @property
    def is_new(self) -> bool:
        return self.found is None

    @property
    def is_reshaped(self) -> bool:
        """The rows are told apart otherwise than when the view was made: what was logged does not fit it."""
        return self.found is not None and self.found.sql != self.view_sql

    def creation(self) -> tuple[Change, ...]:
        """What makes the tables and the view, or brings the view up to date; nothing, almost always."""
        tables: tuple[Change, ...] = ()
        if self.found is None:
            tables = tuple(CreateTable(table, holds_inlined=False) for table in self.tables.values())
        elif (self.found.name, self.found.sql, self.found.tags) == (self.view, self.view_sql, self.tags):
            return ()
        elif self.found.name != self.view:
            tables = (drop_view(self.found.name.schema, self.found.name.name),)
        return (
            *tables,
            register_view(self.view.schema, self.view.name, self.view_sql, tags=dict(self.tags)),
        )


def load_layout(conn: Connection, sink: Sink, scales: Mapping[str, int]) -> Layout:
    catalog = LakeCatalog(sink.lake_schema)
    with conn.transaction():
        found = sink_view(conn, catalog, sink.pgt_id, sink.relid)
        options = WriteOptions.from_lake(catalog.options(conn))
        if found is None:
            columns = sink_columns(load_columns(conn, sink), scales)
            tables = _new_tables(conn, catalog, sink, columns)
        else:
            tables = _tables(conn, catalog, sink, found)
            first = next(iter(tables.values()))
            types = [column.type for column in first.columns]
            described = load_columns(conn, sink)
            if [column.name for column in described] != [c.name for c in first.columns[: len(described)]]:
                raise _remade(f"the columns of {sink.title} are not those of its table in the lake")
            columns = existing_columns(described, types[: len(described)])
        key = load_key(conn, sink, [column.name for column in columns])
        schema = next(iter(tables.values())).name.schema
    names = {role: table.name for role, table in tables.items()}
    text = (
        replace_view(columns, names["data"])
        if sink.mode == "replace"
        else append_view(columns, key, names["log"], names["base"])
    )
    view = TableName(schema, sink.name)
    return Layout(catalog, columns, tables, options, view, text, _tags(sink, tables), found)


def sink_view(conn: Connection, catalog: LakeCatalog, pgt_id: int, relid: int) -> ViewDefinition | None:
    """The view of a sink, by its tags."""
    for view in tagged_views(conn, catalog, PGT_ID, str(pgt_id)):
        if dict(view.tags).get(RELID) == str(relid):
            return view
    return None


def table_ids(view: ViewDefinition) -> dict[str, UUID]:
    """The tables below a sink's view, by role."""
    tags = dict(view.tags)
    return {role: UUID(tags[f"runnel.{role}"]) for role in _EXTRA if f"runnel.{role}" in tags}


def _new_tables(
    conn: Connection, catalog: LakeCatalog, sink: Sink, columns: tuple[SinkColumn, ...]
) -> dict[str, Table]:
    schema = _lake_schema(conn, catalog, sink)
    found: dict[str, Table] = {}
    for role in _ROLES[sink.mode]:
        fields = [(column.name, column.lake) for column in columns]
        _refuse_reserved(sink, columns, {name for name, _ in _EXTRA[role]})
        name = f"{sink.name}__{role}"
        _require_free(conn, catalog, TableName(schema, name))
        found[role] = catalog.new_table(conn, schema, name, new_columns([*fields, *_EXTRA[role]]))
    _require_free(conn, catalog, TableName(schema, sink.name))
    return found


def _lake_schema(conn: Connection, catalog: LakeCatalog, sink: Sink) -> str:
    """The lake's schema of the same name where there is one, else main."""
    at = catalog.newest(conn).snapshot_id
    return sink.schema if catalog.run(conn, "find_schema", schema=sink.schema, at=at) else "main"


def _refuse_reserved(sink: Sink, columns: tuple[SinkColumn, ...], reserved: set[str]) -> None:
    for column in columns:
        if column.name.lower() in reserved:
            raise UserError(
                f"the column {column.name} of {sink.title} has a name that an append sink uses itself",
                hint="rename it in the query, or choose ducklake_sink_mode => 'replace'",
            )


def _require_free(conn: Connection, catalog: LakeCatalog, name: TableName) -> None:
    kind = "view" if find_view(conn, catalog, name.schema, name.name) else None
    kind = "table" if catalog.find_table(conn, name.schema, name.name) else kind
    if kind is not None:
        raise UserError(
            f"the lake has a {kind} {name} already, which this sink needs",
            hint="drop or rename it there; or make a lake schema named like the stream table's schema",
        )


def _tables(conn: Connection, catalog: LakeCatalog, sink: Sink, view: ViewDefinition) -> dict[str, Table]:
    at = catalog.newest(conn).snapshot_id
    found: dict[str, Table] = {}
    for role, uuid in table_ids(view).items():
        table = catalog.find_by_uuid(conn, uuid, at)
        if table is None:
            raise _remade(f"the lake table below the view {view.name} was dropped or replaced in the lake")
        found[role] = table
    if tuple(found) != _ROLES[sink.mode]:
        raise SchemaError(
            f"the view {view.name} in the lake is of another sink mode", hint="it is removed first: try again"
        )
    return found


def _remade(message: str) -> SchemaError:
    return SchemaError(
        message, hint="make the sink anew: alter_stream_table(name, sink => 'none'), then sink => 'ducklake'"
    )


def _tags(sink: Sink, tables: Mapping[str, Table]) -> tuple[tuple[str, str], ...]:
    tags = {
        PGT_ID: str(sink.pgt_id),
        RELID: str(sink.relid),
        MODE: sink.mode,
        "runnel.query": sink.query,
        "runnel.source_table_ids": ",".join(map(str, sink.sources)),
        "comment": f"stream table {sink.schema}.{sink.name}, maintained by Runnel",
        **{f"runnel.{role}": str(table.uuid) for role, table in tables.items()},
    }
    return tuple(sorted(tags.items()))
