"""Views of a lake that carry where they come from: runnable SQL, and the rest as tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runnel.lake.catalog import Connection, LakeCatalog
from runnel.lake.commit.changes import CreateOrReplaceView, DropView
from runnel.lake.spec import TableName, ViewDefinition, quote_name

CATALOG = "{DUCKLAKE_CATALOG}"  # DuckDB puts the name here under which the lake is attached


def table_reference(name: TableName) -> str:
    """How a view's SQL names a table of its own lake."""
    return f"{CATALOG}.{quote_name(name.schema)}.{quote_name(name.name)}"


def register_view(
    schema: str,
    name: str,
    sql: str,
    *,
    column_names: Sequence[str] = (),
    comment: str | None = None,
    tags: Mapping[str, str] | None = None,
) -> CreateOrReplaceView:
    """The change that creates the view or replaces the one of that name."""
    found = dict(tags or {})
    if comment is not None:
        found["comment"] = comment
    return CreateOrReplaceView(
        TableName(schema, name), sql, tuple(column_names), tuple(sorted(found.items()))
    )


def drop_view(schema: str, name: str, *, if_exists: bool = True) -> DropView:
    return DropView(TableName(schema, name), if_exists)


def find_view(
    conn: Connection, catalog: LakeCatalog, schema: str, name: str, at: int | None = None
) -> ViewDefinition | None:
    """The view of that name with its tags, to see whether it must be replaced at all."""
    at = catalog.newest(conn).snapshot_id if at is None else at
    rows = catalog.run(conn, "find_view", schema=schema, name=name, at=at)
    if not rows:
        return None
    return _definition(conn, catalog, rows[0], at)


def tagged_views(conn: Connection, catalog: LakeCatalog, key: str, value: str) -> tuple[ViewDefinition, ...]:
    """The views of the newest snapshot that carry this tag, whatever they are named by now."""
    at = catalog.newest(conn).snapshot_id
    rows = catalog.run(conn, "tagged_views", key=key, value=value, at=at)
    return tuple(_definition(conn, catalog, row, at) for row in rows)


def _definition(conn: Connection, catalog: LakeCatalog, row: Any, at: int) -> ViewDefinition:
    tags = catalog.run(conn, "tags", object_id=row.view_id, at=at)
    return ViewDefinition(
        TableName(row.schema_name, row.view_name),
        row.sql,
        row.view_id,
        tuple((tag.key, tag.value) for tag in tags),
    )
