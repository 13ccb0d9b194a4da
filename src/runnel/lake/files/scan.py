"""A table at a snapshot as independent tasks, which may travel to other processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from runnel.errors import UserError
from runnel.lake.catalog import Connection, LakeCatalog
from runnel.lake.files.inlined import CarriedRows, RemoteRows, carry_rows, cast_sql, has_rows
from runnel.lake.files.read import BEGUN, ROW_ID, has_deletes, named, rows_sql, stream
from runnel.lake.files.window import Window
from runnel.lake.spec import Column, DataFile, Table, quote_name

_INLINED = "inlined_rows"


@dataclass(frozen=True, slots=True)
class ScanTask:
    """The rows of one data file, or the inlined rows of a table, that a window lets through."""

    table: Table
    window: Window
    source: DataFile | RemoteRows | CarriedRows

    def read(
        self, columns: Sequence[str] | None = None, filter_sql: str | None = None, *, identity: bool = False
    ) -> pa.RecordBatchReader:
        """Batches of the named columns (all, unless told) of the rows that DuckDB's `filter_sql` keeps.

        With `identity` follow `rowid` and `snapshot_id`, as DuckDB calls them.
        """
        extra = {"rowid": ROW_ID, "snapshot_id": BEGUN} if identity else {}
        return self.select(columns, filter_sql, extra)

    def select(
        self, columns: Sequence[str] | None, filter_sql: str | None, extra: dict[str, str]
    ) -> pa.RecordBatchReader:
        wanted = _find(self.table, columns)
        fields = [pa.field(column.name, column.arrow) for column in wanted]
        schema = pa.schema(fields + [pa.field(name, pa.int64()) for name in extra])
        if not self._may_have_rows():
            return pa.RecordBatchReader.from_batches(schema, [])
        expressions = [quote_name(column.name) for column in wanted] + list(extra.values())
        rows, sources = self._rows()
        inner = named(self.table.columns, rows, self.window.condition(), self.window.weight())
        condition = f" WHERE ({filter_sql})" if filter_sql else ""
        return stream(f"SELECT {', '.join(expressions)} FROM ({inner}){condition}", schema, sources)

    def _may_have_rows(self) -> bool:
        """A flush rewrites deletes of old; the data file need not be there where none of them is new."""
        after = self.window.after
        if after is None or not isinstance(self.source, DataFile) or not self.source.is_older_than(after):
            return True
        return has_deletes(self.source, after, self.window.upto)

    def _rows(self) -> tuple[str, dict[str, pa.Table]]:
        match self.source:
            case DataFile():
                return rows_sql(self.source, self.table.columns), {}
            case RemoteRows() | CarriedRows():
                rows = self.source.fetch(self.table.columns, self.window)
                return cast_sql(self.table.columns, _INLINED), {_INLINED: rows}


def scan_tasks(
    conn: Connection, catalog: LakeCatalog, table: Table, at: int, *, dsn: str | None = None
) -> list[ScanTask]:
    """One task per data file and one for inlined rows; `conn` should be at REPEATABLE READ.

    With a `dsn` the inlined rows are fetched by the task itself, otherwise they travel with it.
    """
    window = Window(at)
    tasks = [ScanTask(table, window, file) for file in catalog.files(conn, table, at)]
    return tasks + inlined_tasks(conn, catalog, table, window, dsn)


def inlined_tasks(
    conn: Connection, catalog: LakeCatalog, table: Table, window: Window, dsn: str | None
) -> list[ScanTask]:
    """The task for the inlined rows of a window; none where there are no rows."""
    found = catalog.inlined_tables(conn, table)
    sources = tuple(source for source in found if has_rows(conn, catalog, source, window))
    if not sources:
        return []
    if dsn is None:
        return [ScanTask(table, window, carry_rows(conn, catalog, sources, table.columns, window))]
    newest = catalog.newest(conn).snapshot_id
    return [ScanTask(table, window, RemoteRows(dsn, catalog, table, sources, newest))]


def _find(table: Table, names: Sequence[str] | None) -> Sequence[Column]:
    if names is None:
        return table.columns
    found = [table.column(name) for name in names]
    if missing := [name for name, column in zip(names, found, strict=True) if column is None]:
        raise UserError(
            f"the lake table {table.name} has no column {', '.join(missing)}",
            hint=f"it has {', '.join(column.name for column in table.columns)}",
        )
    return [column for column in found if column is not None]
