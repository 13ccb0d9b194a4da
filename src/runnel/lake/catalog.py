"""Reads a lake's catalog at any snapshot, on the caller's connection and in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import namedtuple_row

from runnel.errors import SchemaError, UserError
from runnel.lake import objects
from runnel.lake.create import create_lake
from runnel.lake.queries import queries
from runnel.lake.spec import (
    Column,
    DataFile,
    DataType,
    DeleteFile,
    InlinedTable,
    Snapshot,
    Table,
    TableName,
    near_names,
    quote_name,
    split_changes,
    table_path,
    uuid7,
)

__all__ = ["LakeCatalog", "create_lake"]

Connection = psycopg.Connection[Any]
SUPPORTED_VERSION = "1.0"
_Mappings = dict[int, tuple[tuple[int, str], ...]]
_MISSING = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.InvalidSchemaName,
)


@dataclass(frozen=True, slots=True)
class LakeCatalog:
    """The DuckLake catalog whose tables lie in one schema of a PostgreSQL database."""

    schema: str = "public"

    def newest(self, conn: Connection) -> Snapshot:
        """The newest snapshot; raises where there is no catalog of the version we know."""
        rows = self.run(conn, "newest")
        if not rows:
            raise self.not_a_lake("it has no snapshot")
        if rows[0].version != SUPPORTED_VERSION:
            raise SchemaError(
                f'the lake catalog in the schema "{self.schema}" has the version {rows[0].version}',
                hint=f"use a DuckLake catalog of version {SUPPORTED_VERSION}",
            )
        return Snapshot(*rows[0][:5])

    def snapshot(self, conn: Connection, snapshot_id: int) -> Snapshot:
        rows = self.run(conn, "snapshots", low=snapshot_id, high=snapshot_id)
        if not rows:
            raise self._no_snapshot(conn, snapshot_id)
        return Snapshot(*rows[0])

    def snapshots(self, conn: Connection, low: int = 0, high: int = 2**62) -> tuple[Snapshot, ...]:
        """The snapshots that live, oldest first; a gap in their ids is an expired one."""
        return tuple(Snapshot(*row) for row in self.run(conn, "snapshots", low=low, high=high))

    def changes(self, conn: Connection, after: int, upto: int) -> dict[int, tuple[tuple[str, str], ...]]:
        """What each snapshot in (after, upto] says it changed, as (kind, subject)."""
        rows = self.run(conn, "changes", after=after, upto=upto)
        return {row.snapshot_id: split_changes(row.changes_made) for row in rows}

    def data_path(self, conn: Connection) -> str:
        if (path := self.options(conn).get("data_path")) is None:
            raise self.not_a_lake("it names no data path")
        return path

    def options(
        self, conn: Connection, *, schema_id: int | None = None, table_id: int | None = None
    ) -> dict[str, str]:
        """The lake's options; those of the schema and the table, where given, override the global ones."""
        return {
            row.key: row.value for row in self.run(conn, "options", schema_id=schema_id, table_id=table_id)
        }

    def tables(self, conn: Connection, at: int) -> tuple[TableName, ...]:
        return tuple(TableName(*row) for row in self.run(conn, "tables", at=at))

    def table(self, conn: Connection, schema: str, name: str, at: int | None = None) -> Table:
        """The table of that name, at the newest snapshot unless told; an error names what is near."""
        at = self.newest(conn).snapshot_id if at is None else at
        if found := self.find_table(conn, schema, name, at):
            return found
        known = [str(table) for table in self.tables(conn, at)]
        near = near_names(f"{schema}.{name}", known)
        raise UserError(
            f"the lake has no table {schema}.{name} at snapshot {at}",
            hint=f"it has {', '.join(near)}" if near else "it has no table at all",
        )

    def find_table(self, conn: Connection, schema: str, name: str, at: int | None = None) -> Table | None:
        at = self.newest(conn).snapshot_id if at is None else at
        return self._read_table(conn, at, schema=schema, name=name, uuid=None)

    def find_by_uuid(self, conn: Connection, uuid: UUID, at: int) -> Table | None:
        """The table by its identity: a rename keeps it, CREATE OR REPLACE does not."""
        return self._read_table(conn, at, schema=None, name=None, uuid=uuid)

    def new_table(self, conn: Connection, schema: str, name: str, columns: Sequence[Column]) -> Table:
        """A table for `CreateTable`: its identity and its directory, so that files can be written first."""
        at = self.newest(conn).snapshot_id
        rows = self.run(conn, "find_schema", schema=schema, at=at)
        if not rows:
            raise UserError(f"the lake has no schema {schema}", hint="create it first, or use main")
        uuid = uuid7()
        path = table_path(name, uuid)
        root = objects.join(rows[0].data_path, rows[0].path, rows[0].path_is_relative)
        return Table(
            None, uuid, TableName(rows[0].schema_name, name), path, objects.join(root, path), tuple(columns)
        )

    def files(self, conn: Connection, table: Table, at: int) -> tuple[DataFile, ...]:
        """The data files visible at a snapshot, each with what was deleted from it until then."""
        rows = self.run(conn, "data_files", table_id=table.table_id, at=at)
        return self._with_deletes(conn, table, rows, at)

    def changed_files(self, conn: Connection, table: Table, after: int, upto: int) -> tuple[DataFile, ...]:
        """The data files of which some row came or went in (after, upto]."""
        deleted = sorted({file for file, _, at in self._inlined_deletes(conn, table, upto) if at > after})
        rows = self.run(
            conn, "changed_files", table_id=table.table_id, after=after, upto=upto, deleted=deleted
        )
        return self._with_deletes(conn, table, rows, upto)

    def inlined_tables(self, conn: Connection, table: Table) -> tuple[InlinedTable, ...]:
        """The PostgreSQL tables that hold rows of this table."""
        return tuple(
            InlinedTable(
                row.table_name,
                row.schema_version,
                self._columns(conn, table.table_id, row.known_since, table.name),
            )
            for row in self.run(conn, "inlined_tables", table_id=table.table_id)
        )

    def run(self, conn: Connection, query: str, **parameters: object) -> list[Any]:
        """Runs one named statement of the room."""
        try:
            with conn.cursor(row_factory=namedtuple_row) as cursor:
                cursor.execute(queries(self.schema)[query], parameters)
                return cursor.fetchall() if cursor.description else []
        except _MISSING as error:
            raise self.not_a_lake(error.diag.message_primary) from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise UserError(
                f'this role may not use the lake catalog in the schema "{self.schema}"',
                detail=error.diag.message_primary,
                hint=f'GRANT USAGE ON SCHEMA "{self.schema}" TO this role, and the rights on its tables',
            ) from error

    def _read_table(self, conn: Connection, at: int, **identity: object) -> Table | None:
        rows = self.run(conn, "find_table", at=at, **identity)
        if not rows:
            return None
        row = rows[0]
        name = TableName(row.schema_name, row.table_name)
        root = objects.join(row.data_path, row.schema_path, row.schema_is_relative)
        directory = objects.join(root, row.path, row.path_is_relative)
        columns = self._columns(conn, row.table_id, at, name)
        return Table(row.table_id, row.table_uuid, name, row.path, directory, columns)

    def _columns(
        self, conn: Connection, table_id: int | None, at: int, name: TableName
    ) -> tuple[Column, ...]:
        rows = self.run(conn, "columns", table_id=table_id, at=at)
        if any(row.parent_column is not None for row in rows):
            self._refuse_changed_parts(conn, table_id, name)
        return _tree(rows, None)

    def _refuse_changed_parts(self, conn: Connection, table_id: int | None, name: TableName) -> None:
        """Files are matched by field id at the top only, so the parts of nested columns must never change."""
        if self.run(conn, "nested_history", table_id=table_id)[0].changes:
            raise UserError(
                f"a nested column of {name} was altered in its parts, which is not supported yet",
                hint="copy the table: CREATE TABLE … AS SELECT * FROM …",
            )

    def _with_deletes(self, conn: Connection, table: Table, rows: list[Any], at: int) -> tuple[DataFile, ...]:
        ids = [row.data_file_id for row in rows]
        deletes: dict[int, list[DeleteFile]] = {file_id: [] for file_id in ids}
        inlined: dict[int, list[tuple[int, int]]] = {file_id: [] for file_id in ids}
        for row in self.run(conn, "delete_files", files=ids, at=at) if ids else ():
            _require_parquet(table, row.format)
            path = objects.join(table.directory, row.path, row.path_is_relative)
            deletes[row.data_file_id].append(DeleteFile(path, row.begin_snapshot, row.encryption_key))
        for file_id, position, begin in self._inlined_deletes(conn, table, at) if ids else ():
            if file_id in inlined:
                inlined[file_id].append((position, begin))
        mappings = self._mappings(conn, table, {row.mapping_id for row in rows} - {None})
        return tuple(_data_file(table, row, deletes, inlined, mappings) for row in rows)

    def _mappings(self, conn: Connection, table: Table, ids: set[int]) -> _Mappings:
        """What files that were added as they are call the table's columns."""
        found: _Mappings = dict.fromkeys(ids, ())
        for row in self.run(conn, "mappings", mappings=sorted(ids)) if ids else ():
            if row.is_partition:
                raise UserError(
                    f"{table.name} has a file whose path holds the column {row.source_name}",
                    hint="this is not supported yet; rewrite the table: CREATE TABLE … AS SELECT * FROM …",
                )
            found[row.mapping_id] += ((row.target_field_id, row.source_name),)
        return found

    def _inlined_deletes(self, conn: Connection, table: Table, at: int) -> list[tuple[int, int, int]]:
        """Deletes kept in the catalog until they are flushed: (file, position, snapshot)."""
        relation = f"{quote_name(self.schema)}.ducklake_inlined_delete_{table.table_id}"
        if not self.run(conn, "relation_exists", relation=relation)[0].is_there:
            return []
        rows = conn.execute(
            f"SELECT file_id, row_id, begin_snapshot FROM {relation} WHERE begin_snapshot <= %s",
            (at,),
        ).fetchall()
        return [(int(file_id), int(position), int(begin)) for file_id, position, begin in rows]

    def _no_snapshot(self, conn: Connection, snapshot_id: int) -> UserError:
        newest = self.newest(conn).snapshot_id
        oldest = self.run(conn, "oldest")[0].snapshot_id
        state = "was expired" if snapshot_id < newest else "does not exist"
        return UserError(
            f"the lake's snapshot {snapshot_id} {state}", hint=f"snapshots {oldest} to {newest} can be read"
        )

    def not_a_lake(self, detail: str | None) -> SchemaError:
        return SchemaError(
            f'there is no DuckLake catalog in the schema "{self.schema}"',
            detail=detail,
            hint="check the database and the schema (metadata_schema), or create a lake there",
        )


def _tree(rows: list[Any], parent: int | None) -> tuple[Column, ...]:
    return tuple(
        Column(
            row.column_id,
            row.column_name,
            DataType(row.column_type),
            row.nulls_allowed is not False,
            row.initial_default,
            _tree(rows, row.column_id),
        )
        for row in rows
        if row.parent_column == parent
    )


def _data_file(
    table: Table,
    row: Any,
    deletes: dict[int, list[DeleteFile]],
    inlined: dict[int, list[tuple[int, int]]],
    mappings: _Mappings,
) -> DataFile:
    _require_parquet(table, row.file_format)
    return DataFile(
        data_file_id=row.data_file_id,
        path=objects.join(table.directory, row.path, row.path_is_relative),
        begin_snapshot=row.begin_snapshot,
        end_snapshot=row.end_snapshot,
        record_count=row.record_count,
        row_id_start=row.row_id_start,
        encryption_key=row.encryption_key,
        mapping=mappings.get(row.mapping_id),
        partial_max=row.partial_max,
        deletes=tuple(deletes[row.data_file_id]),
        inlined_deletes=tuple(inlined[row.data_file_id]),
    )


def _require_parquet(table: Table, file_format: str) -> None:
    if file_format != "parquet":
        raise UserError(
            f"{table.name} has a file of the format {file_format}, which is not supported yet",
            hint="switch write_deletion_vectors off and rewrite the table's files",
        )
