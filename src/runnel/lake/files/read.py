"""Reads one data file with every row's beginning and end, so that any snapshot or range can be cut out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import pyarrow as pa

from runnel.errors import UserError
from runnel.lake import duck
from runnel.lake.files.source import data_source, delete_source, unreadable
from runnel.lake.spec import Column, DataFile, quote_name

ROW_ID, BEGUN, WEIGHT = '"runnel:row_id"', '"runnel:begun"', '"runnel:weight"'
BATCH_ROWS = 65_536


def rows_sql(file: DataFile, columns: Sequence[Column]) -> str:
    """SQL for all rows of a file: the columns as c0, c1, …, `row_id`, `begun` and `ended`."""
    names = "".join(f"f.c{i}, " for i in range(len(columns)))
    start = "NULL" if file.row_id_start is None else str(file.row_id_start)
    end = "NULL" if file.end_snapshot is None else str(file.end_snapshot)
    deletes = _deletes_sql(file)
    joined = f" LEFT JOIN ({deletes}) d ON d.position = f.file_row_number" if deletes else ""
    ended = f"least(d.ended, {end}::BIGINT)" if deletes else f"{end}::BIGINT"
    begun = f"coalesce(f.kept_snapshot, {file.begin_snapshot})"
    if file.rewrites:
        begun = (
            f"CASE WHEN {begun} IN ({', '.join(map(str, sorted(file.rewrites)))}) THEN -1 ELSE {begun} END"
        )
    return (
        f"SELECT {names}coalesce(f.kept_row_id, {start}::BIGINT + f.file_row_number) AS row_id, "
        f"{begun} AS begun, {ended} AS ended "
        f"FROM ({data_source(file, columns)}) f{joined}"
    )


def has_deletes(file: DataFile, after: int, upto: int) -> bool:
    """Whether a row was deleted in (after, upto], told without opening the data file."""
    if not (deletes := _deletes_sql(file)):
        return False
    query = f"SELECT count(*) AS c0 FROM ({deletes}) WHERE ended > {after} AND ended <= {upto}"
    found = stream(query, pa.schema([("c0", pa.int64())])).read_all()
    return bool(found["c0"][0].as_py())


def named(columns: Sequence[Column], rows: str, condition: str, weight: str) -> str:
    """The rows that fulfil a condition on `begun` and `ended`, under the names that a user's filter knows."""
    names = "".join(
        f"{exported(column, f'c{i}')} AS {quote_name(column.name)}, " for i, column in enumerate(columns)
    )
    return (
        f"SELECT {names}row_id AS {ROW_ID}, begun AS {BEGUN}, {weight}::BIGINT AS {WEIGHT} "
        f"FROM ({rows}) WHERE {condition}"
    )


def exported(column: Column, expression: str) -> str:
    """The column as its Arrow type wants it: ids and json as text, 128-bit integers as decimals."""
    if column.exported == column.duckdb:
        return expression
    return f"CAST({expression} AS {column.exported})"


def stream(sql: str, schema: pa.Schema, sources: dict[str, pa.Table] | None = None) -> pa.RecordBatchReader:
    """Runs a query in this process's DuckDB; names and types of the batches are those of `schema`."""
    return pa.RecordBatchReader.from_batches(schema, _batches(sql, schema, sources or {}))


def _batches(sql: str, schema: pa.Schema, sources: dict[str, pa.Table]) -> Iterator[pa.RecordBatch]:
    connection = duck.cursor()
    try:
        for name, source in sources.items():
            connection.register(name, source)
        for batch in connection.execute(sql).to_arrow_reader(BATCH_ROWS):
            if batch.num_rows:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
    except (duckdb.IOException, duckdb.InvalidInputException) as error:
        raise unreadable(error) from error
    except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
        raise UserError(
            "a value of the lake cannot be read exactly", detail=str(error).splitlines()[0]
        ) from error
    finally:
        for name in sources:
            connection.unregister(name)
        connection.close()


def _deletes_sql(file: DataFile) -> str:
    """The positions that were ever deleted, each with its first snapshot; empty where there are none."""
    parts = [delete_source(delete) for delete in file.deletes]
    if file.inlined_deletes:
        positions = ", ".join(str(position) for position, _ in file.inlined_deletes)
        snapshots = ", ".join(str(snapshot) for _, snapshot in file.inlined_deletes)
        parts.append(f"SELECT unnest([{positions}]) AS position, unnest([{snapshots}]) AS ended")
    if not parts:
        return ""
    return f"SELECT position, min(ended) AS ended FROM ({' UNION ALL '.join(parts)}) GROUP BY position"
