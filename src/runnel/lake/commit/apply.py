"""Turns each change into the catalog rows that DuckDB itself would write for it."""

from __future__ import annotations

from typing import Any, assert_never

from psycopg import sql

from runnel.errors import SchemaError, TransientError, UserError
from runnel.lake.commit.append import add_files
from runnel.lake.commit.changes import (
    Append,
    Change,
    CreateOrReplaceView,
    CreateSchema,
    CreateTable,
    DropTable,
    DropView,
    Overwrite,
    Tag,
)
from runnel.lake.commit.claim import Claim
from runnel.lake.commit.requirements import SameTable
from runnel.lake.spec import Column, Table, TableName, flatten, quote_name, table_path, uuid7

_RESERVED = {"row_id", "begin_snapshot", "end_snapshot"}  # columns of every table of inlined rows


def apply(claim: Claim, change: Change) -> None:
    match change:
        case CreateSchema():
            _create_schema(claim, change)
        case CreateTable():
            _create_table(claim, change)
        case Append():
            add_files(claim, _current(claim, change.table), change.files)
        case Overwrite():
            table = _current(claim, change.table)
            _end_rows(claim, table)
            add_files(claim, table, change.files)
        case DropTable():
            _drop_table(claim, change.table)
        case CreateOrReplaceView():
            _replace_view(claim, change)
        case DropView():
            _drop_view(claim, change)
        case Tag():
            _tag(claim, change)
        case _:
            assert_never(change)


def _current(claim: Claim, table: Table) -> Table:
    """The table as the claim sees it, certainly the one that the files were written for."""
    if table.table_id is None:  # created by this very commit, or by nobody
        found = claim.catalog.find_by_uuid(claim.conn, table.uuid, claim.snapshot_id)
        if found is None:
            raise SchemaError(f"the lake table {table.name} was never created")
        table = table.with_id(_id_of(found))
    SameTable(table).check(claim)
    return table


def _id_of(table: Table) -> int:
    if table.table_id is None:
        raise ValueError(f"{table.name} has no id yet")
    return table.table_id


def _create_schema(claim: Claim, change: CreateSchema) -> None:
    if claim.run("find_schema", schema=change.name, at=claim.snapshot_id):
        raise TransientError(f"the lake has a schema {change.name} already")
    uuid = uuid7()
    path = table_path(change.name, uuid)
    claim.run("create_schema", schema_id=claim.ids.catalog_id(), uuid=uuid, name=change.name, path=path)
    claim.log("created_schema", (change.name,))
    claim.is_schema_change = True


def _create_table(claim: Claim, change: CreateTable) -> None:
    table = change.table
    schema_id = _free_name(claim, table.name)
    table_id = claim.ids.catalog_id()
    claim.is_schema_change = True
    claim.run(
        "create_table",
        table_id=table_id,
        uuid=table.uuid,
        schema_id=schema_id,
        name=table.name.name,
        path=table.path,
    )
    parents = {
        child.column_id: column.column_id for column in flatten(table.columns) for child in column.children
    }
    columns = tuple(flatten(table.columns))
    claim.run(
        "create_columns",
        table_id=table_id,
        ids=[column.column_id for column in columns],
        names=[column.name for column in columns],
        types=[column.type.text for column in columns],
        nulls=[column.nulls_allowed for column in columns],
        parents=[parents.get(column.column_id) for column in columns],
        default_types=["" if column.children else "literal" for column in columns],
    )
    claim.run("schema_version", schema_version=claim.schema_version, table_id=table_id)
    if change.holds_inlined:
        _register_inlined(claim, table_id, table.columns)
    claim.log("created_table", (table.name.schema, table.name.name))


def _register_inlined(claim: Claim, table_id: int, columns: tuple[Column, ...]) -> None:
    """The table for inlined rows: DuckDB would make it later, with a schema version of nobody's."""
    if claim.catalog.options(claim.conn).get("data_inlining_row_limit") == "0":
        return
    if any(column.name.lower() in _RESERVED for column in columns):
        return
    name = f"ducklake_inlined_data_{table_id}_{claim.schema_version}"
    fields = [("row_id", "bigint"), ("begin_snapshot", "bigint"), ("end_snapshot", "bigint")]
    fields += [(column.name, column.type.inlined) for column in columns]
    definition = sql.SQL("CREATE TABLE {} ({})").format(
        sql.Identifier(claim.catalog.schema, name),
        sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier(field), sql.SQL(kind)) for field, kind in fields
        ),
    )
    claim.conn.execute(definition)
    claim.run("register_inlined", table_id=table_id, name=name, schema_version=claim.schema_version)


def _end_rows(claim: Claim, table: Table) -> None:
    """Ends all rows; delete files stay as they are, their data files are gone with this snapshot."""
    table_id = _id_of(table)
    if claim.run("end_data_files", table_id=table_id):
        claim.log("deleted_from_table", table_id)
    for row in claim.run("inlined_names", table_id=table_id):
        ended = claim.conn.execute(
            sql.SQL("UPDATE {} SET end_snapshot = %s WHERE end_snapshot IS NULL").format(
                sql.Identifier(claim.catalog.schema, row.table_name)
            ),
            (claim.snapshot_id,),
        )
        if ended.rowcount:
            claim.log("inlined_delete", table_id)


def _drop_table(claim: Claim, table: Table) -> None:
    current = claim.catalog.find_by_uuid(claim.conn, table.uuid, claim.snapshot_id)
    if current is None:
        raise SchemaError(f"the lake table {table.name} was dropped or replaced already")
    table_id = _id_of(current)
    claim.run("end_table", table_id=table_id)
    claim.run("end_data_files", table_id=table_id)
    claim.run("end_delete_files", table_id=table_id)
    claim.run("end_tags", object_id=table_id, key=None)
    claim.log("dropped_table", table_id)
    claim.is_schema_change = True


def _free_name(claim: Claim, name: TableName) -> int:
    """The id of the schema, where nothing bears the name yet."""
    rows = claim.run("find_schema", schema=name.schema, at=claim.snapshot_id)
    if not rows:
        raise UserError(f"the lake has no schema {name.schema}", hint="create it first, or use main")
    schema_id: int = rows[0].schema_id
    if taken := claim.run("name_taken", schema_id=schema_id, name=name.name):
        raise TransientError(
            f"the lake has a {taken[0].kind} {name} already", hint="choose another name, or drop it first"
        )
    return schema_id


def _replace_view(claim: Claim, change: CreateOrReplaceView) -> None:
    if old := _find_view(claim, change.name):
        _end_view(claim, old.view_id)
    schema_id = _free_name(claim, change.name)
    view_id = claim.ids.catalog_id()
    claim.run(
        "create_view",
        view_id=view_id,
        uuid=uuid7(),
        schema_id=schema_id,
        name=change.name.name,
        sql=change.sql,
        aliases=",".join(quote_name(name) for name in change.column_names),
    )
    if change.tags:
        keys, values = zip(*change.tags, strict=True)
        claim.run("create_tags", object_id=view_id, keys=list(keys), values=list(values))
    claim.log("created_view", (change.name.schema, change.name.name))
    claim.is_schema_change = True


def _drop_view(claim: Claim, change: DropView) -> None:
    if old := _find_view(claim, change.name):
        _end_view(claim, old.view_id)
    elif not change.if_exists:
        raise UserError(f"the lake has no view {change.name}")


def _end_view(claim: Claim, view_id: int) -> None:
    claim.run("end_view", view_id=view_id)
    claim.run("end_tags", object_id=view_id, key=None)
    claim.log("dropped_view", view_id)
    claim.is_schema_change = True


def _find_view(claim: Claim, name: TableName) -> Any:
    rows = claim.run("find_view", schema=name.schema, name=name.name, at=claim.snapshot_id)
    return rows[0] if rows else None


def _tag(claim: Claim, change: Tag) -> None:
    if view := _find_view(claim, change.name):
        object_id, kind = view.view_id, "altered_view"
    else:
        table = claim.catalog.table(claim.conn, change.name.schema, change.name.name, claim.snapshot_id)
        object_id, kind = _id_of(table), "altered_table"
    claim.run("end_tags", object_id=object_id, key=change.key)
    if change.value is not None:
        claim.run("create_tags", object_id=object_id, keys=[change.key], values=[change.value])
    claim.log(kind, object_id)
    claim.is_schema_change = True
