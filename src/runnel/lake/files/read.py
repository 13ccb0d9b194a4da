"""Reads one data file with every row's beginning and end, so that any snapshot or range can be cut out."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence

import duckdb
import pyarrow as pa

from runnel.errors import InternalError, SchemaError, UserError
from runnel.lake import duck
from runnel.lake.spec import Column, DataFile, DeleteFile, quote_name, quote_text

# Field ids that DuckLake reserves.
_ROW_ID = 2147483540
_SNAPSHOT = 2147483539
_POSITION = 2147483645

ROW_ID, BEGUN, WEIGHT = '"runnel:row_id"', '"runnel:begun"', '"runnel:weight"'
BATCH_ROWS = 65_536


def rows_sql(file: DataFile, columns: Sequence[Column]) -> str:
    """SQL for all rows of a file: the columns as c0, c1, …, `row_id`, `begun` and `ended`."""
    if file.mapping_id is not None:
        raise UserError(
            f"the lake file {file.path} was added with its own column names, which is not supported yet",
            hint="rewrite it: INSERT INTO … SELECT, or ducklake_rewrite_data_files",
        )
    fields = [_field(column.column_id, f"c{i}", column) for i, column in enumerate(columns)]
    fields.append(_plain_field(_ROW_ID, "kept_row_id"))
    fields.append(_plain_field(_SNAPSHOT, "kept_snapshot"))
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
        f"FROM {_read(file.path, file.encryption_key, fields)} f{joined}"
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
        raise SchemaError(
            "a file of the lake cannot be read",
            detail=str(error).splitlines()[0],
            hint="its snapshot may have been expired and its files removed: read the newest snapshot",
        ) from error
    finally:
        for name in sources:
            connection.unregister(name)
        connection.close()


def _field(column_id: int, name: str, column: Column) -> str:
    default = "NULL" if column.initial_default is None else quote_text(column.initial_default)
    return (
        f"{column_id}: {{'name': '{name}', 'type': {quote_text(column.duckdb)}, 'default_value': {default}}}"
    )


def _plain_field(field_id: int, name: str) -> str:
    return f"{field_id}: {{'name': '{name}', 'type': 'BIGINT', 'default_value': NULL}}"


def _read(path: str, encryption_key: str | None, fields: Sequence[str]) -> str:
    key = "" if encryption_key is None else f", encryption_config = {_encryption(path, encryption_key)}"
    return f"read_parquet({quote_text(path)}, schema = MAP {{{', '.join(fields)}}}{key})"


def _encryption(path: str, encryption_key: str) -> str:
    """A key of a wrong length would end the whole process inside DuckDB."""
    try:
        key = base64.b64decode(encryption_key, validate=True)
    except binascii.Error:
        key = b""
    if len(key) not in {16, 24, 32}:
        raise InternalError(f"the encryption key of the lake file {path} is not a key")
    return f"{{footer_key_value: from_base64({quote_text(encryption_key)})}}"


def _deletes_sql(file: DataFile) -> str:
    """The positions that were ever deleted, each with its first snapshot; empty where there are none."""
    parts = [_delete_file_sql(delete) for delete in file.deletes]
    if file.inlined_deletes:
        positions = ", ".join(str(position) for position, _ in file.inlined_deletes)
        snapshots = ", ".join(str(snapshot) for _, snapshot in file.inlined_deletes)
        parts.append(f"SELECT unnest([{positions}]) AS position, unnest([{snapshots}]) AS ended")
    if not parts:
        return ""
    return f"SELECT position, min(ended) AS ended FROM ({' UNION ALL '.join(parts)}) GROUP BY position"


def _delete_file_sql(delete: DeleteFile) -> str:
    fields = [_plain_field(_POSITION, "position"), _plain_field(_SNAPSHOT, "kept_snapshot")]
    return (
        f"SELECT position, coalesce(kept_snapshot, {delete.begin_snapshot}) AS ended "
        f"FROM {_read(delete.path, delete.encryption_key, fields)}"
    )
