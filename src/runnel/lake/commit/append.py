"""Adds files to a table, with row ids that nobody else has and statistics that cover every row."""

from __future__ import annotations

from runnel.errors import UserError
from runnel.lake.commit.claim import Claim
from runnel.lake.files import WrittenFile
from runnel.lake.spec import (
    ColumnStatistics,
    Table,
    TableColumnStatistics,
    flatten,
    merge_statistics,
)

_Known = dict[int, TableColumnStatistics]


def add_files(claim: Claim, table: Table, files: tuple[WrittenFile, ...]) -> None:
    found = claim.run("table_statistics", table_id=table.table_id)[0]
    if found.is_partitioned:
        raise UserError(
            f"the lake table {table.name} is partitioned, which is not supported yet for writing",
            hint="ALTER TABLE … RESET PARTITIONED BY",
        )
    next_row_id: int = found.next_row_id or 0
    for file in files:
        _require_values(table, file)
        _add_file(claim, table, file, next_row_id)
        next_row_id += file.record_count
    if files and table.table_id is not None:
        _add_table_statistics(claim, table, files, is_first=found.next_row_id is None)
        claim.log("inserted_into_table", table.table_id)


def _require_values(table: Table, file: WrittenFile) -> None:
    strict = {column.column_id: column.name for column in flatten(table.columns) if not column.nulls_allowed}
    for column_id, statistics in file.statistics:
        if column_id in strict and statistics.null_count:
            raise UserError(f"the column {strict[column_id]} of the lake table {table.name} must not be null")


def _add_file(claim: Claim, table: Table, file: WrittenFile, row_id_start: int) -> None:
    file_id = claim.ids.file_id()
    claim.run(
        "add_data_file",
        file_id=file_id,
        table_id=table.table_id,
        path=file.path,
        records=file.record_count,
        bytes=file.file_size_bytes,
        footer=file.footer_size,
        row_id_start=row_id_start,
    )
    columns = [statistics for _, statistics in file.statistics]
    claim.run(
        "add_file_statistics",
        file_id=file_id,
        table_id=table.table_id,
        ids=[column_id for column_id, _ in file.statistics],
        sizes=[column.size_bytes for column in columns],
        value_counts=[column.value_count for column in columns],
        null_counts=[column.null_count for column in columns],
        lows=[column.min_value for column in columns],
        highs=[column.max_value for column in columns],
        nans=[column.contains_nan for column in columns],
    )


def _add_table_statistics(claim: Claim, table: Table, files: tuple[WrittenFile, ...], is_first: bool) -> None:
    totals = {
        "records": sum(file.record_count for file in files),
        "bytes": sum(file.file_size_bytes for file in files),
    }
    name = "create_table_statistics" if is_first else "raise_table_statistics"
    claim.run(name, table_id=table.table_id, **totals)
    rows = [] if is_first else claim.run("column_statistics", table_id=table.table_id)
    known = {row.column_id: TableColumnStatistics(*row[1:]) for row in rows}
    merged, unknown = _merge(table, known, files, is_first)
    changed = {column_id: value for column_id, value in merged.items() if known.get(column_id) != value}
    if changed:
        _store(claim, table, "insert_column_statistics" if is_first else "update_column_statistics", changed)
    if unknown:
        claim.run("delete_column_statistics", table_id=table.table_id, ids=unknown)


def _merge(
    table: Table, known: _Known, files: tuple[WrittenFile, ...], is_first: bool
) -> tuple[_Known, list[int]]:
    """The new entry of each column, and the columns that lose theirs.

    Only the first rows of a table make entries: a missing one means that older rows are not covered.
    """
    types = {column.column_id: column.type for column in flatten(table.columns)}
    merged: _Known = {}
    unknown: list[int] = []
    for column_id, added in _by_column(files).items():
        current = known.get(column_id)
        if current is None and not is_first:
            continue
        for statistics in added:
            current = merge_statistics(types[column_id], current, statistics)
            if current is None:
                break
        if current is None:
            unknown.append(column_id)
        else:
            merged[column_id] = current
    return merged, unknown


def _by_column(files: tuple[WrittenFile, ...]) -> dict[int, list[ColumnStatistics]]:
    found: dict[int, list[ColumnStatistics]] = {}
    for file in files:
        for column_id, statistics in file.statistics:
            found.setdefault(column_id, []).append(statistics)
    return found


def _store(claim: Claim, table: Table, name: str, statistics: _Known) -> None:
    values = list(statistics.values())
    claim.run(
        name,
        table_id=table.table_id,
        ids=list(statistics),
        nulls=[value.contains_null for value in values],
        nans=[value.contains_nan for value in values],
        lows=[value.min_value for value in values],
        highs=[value.max_value for value in values],
    )
