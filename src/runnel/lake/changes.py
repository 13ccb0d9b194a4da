"""What changed in a table between two snapshots, read from no file that did not change in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from runnel.errors import SchemaError
from runnel.lake.catalog import Connection, LakeCatalog
from runnel.lake.files.read import WEIGHT
from runnel.lake.files.scan import ScanTask, inlined_tasks
from runnel.lake.files.window import Window
from runnel.lake.spec import DataFile, Table

_REFILL = "read the whole table at the newer snapshot instead"


@dataclass(frozen=True, slots=True)
class ChangeTask:
    """The changes that one data file, or the inlined rows of a table, hold for a range of snapshots."""

    scan: ScanTask

    def read(
        self, columns: Sequence[str] | None = None, filter_sql: str | None = None
    ) -> pa.RecordBatchReader:
        """Batches of the named columns and, last, the weight `w`: +1 for a row that came, −1 if it went.

        A row that came and went within the range is left out; an update is one of each.
        """
        return self.scan.select(columns, filter_sql, {"w": WEIGHT})


def change_tasks(
    conn: Connection, catalog: LakeCatalog, table: Table, after: int, upto: int, *, dsn: str | None = None
) -> list[ChangeTask]:
    """The law: scan(upto) = scan(after) + the tasks' rows by weight.

    `table` is the table as it was read at some time before; a SchemaError tells that no exact answer
    exists, because a snapshot of the range is gone or the table is not the same any more.
    """
    current = _require_same(conn, catalog, table, after, upto)
    if after >= upto:
        return []
    window = Window(upto, after)
    rewrites = _rewrites(conn, catalog, current, after, upto)
    files = (_before_rewrites(file, rewrites) for file in catalog.changed_files(conn, current, after, upto))
    scans = [ScanTask(current, window, file) for file in files]
    return [ChangeTask(scan) for scan in scans + inlined_tasks(conn, catalog, current, window, dsn)]


def _require_same(conn: Connection, catalog: LakeCatalog, table: Table, after: int, upto: int) -> Table:
    """The table at `upto`, provided that the whole range lives and nothing but rows differs at its ends."""
    living = {snapshot.snapshot_id for snapshot in catalog.snapshots(conn, after, upto)}
    if missing := [snapshot_id for snapshot_id in range(after, upto + 1) if snapshot_id not in living]:
        raise SchemaError(
            f"the changes of {table.name} since snapshot {after} are gone",
            detail=f"snapshot {missing[0]} was expired or never existed",
            hint=_REFILL,
        )
    start, end = (catalog.find_by_uuid(conn, table.uuid, at) for at in (after, upto))
    if start is None or end is None or start.table_id != end.table_id:
        raise SchemaError(
            f"the lake table {table.name} was created, dropped or replaced since snapshot {after}",
            hint=_REFILL,
        )
    if start.columns != end.columns:
        raise SchemaError(
            f"the columns of the lake table {table.name} have changed since snapshot {after}", hint=_REFILL
        )
    return end


def _rewrites(conn: Connection, catalog: LakeCatalog, table: Table, after: int, upto: int) -> frozenset[int]:
    """The snapshots of the range that only copied this table's surviving rows into new files."""
    subject = str(table.table_id)
    return frozenset(
        snapshot_id
        for snapshot_id, tokens in catalog.changes(conn, after, upto).items()
        if {kind for kind, changed in tokens if changed == subject} == {"rewrite_delete"}
    )


def _before_rewrites(file: DataFile, rewrites: frozenset[int]) -> DataFile:
    """The file as if its rows had neither ended nor begun by a rewrite: both sides then say nothing."""
    if file.end_snapshot in rewrites:
        file = replace(file, end_snapshot=None)
    return replace(file, rewrites=rewrites) if rewrites else file
