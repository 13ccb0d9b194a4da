"""Which column of a file is which column of the table: by field id, or by name where it has none."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from runnel.errors import InternalError, SchemaError, UserError
from runnel.lake.spec import Column, DataFile, DeleteFile, quote_name, quote_text

# Field ids that DuckLake reserves.
_ROW_ID = 2147483540
_SNAPSHOT = 2147483539
_POSITION = 2147483645
_POSITION_NAME = "file_row_number"  # what DuckDB calls it


def data_source(file: DataFile, columns: Sequence[Column]) -> str:
    """SQL for c0, c1, …, `kept_row_id`, `kept_snapshot` and `file_row_number` of every row of a file."""
    if file.mapping is not None:
        return _by_name(file, columns, dict(file.mapping))
    # An encrypted file comes from a writer of DuckLake's own, which always writes ids.
    if file.encryption_key is None and not _has_ids(schema := _schema(file.path)):
        return _by_name(file, columns, {column.column_id: column.name for column in columns}, schema)
    fields = [_field(column.column_id, f"c{i}", column) for i, column in enumerate(columns)]
    fields += [_plain_field(_ROW_ID, "kept_row_id"), _plain_field(_SNAPSHOT, "kept_snapshot")]
    return f"SELECT *, {_POSITION_NAME} FROM {_read(file.path, file.encryption_key, fields)}"


def delete_source(delete: DeleteFile) -> str:
    """SQL for the positions that a delete file holds, each with the snapshot of its deletion."""
    fields = [_plain_field(_POSITION, "position"), _plain_field(_SNAPSHOT, "kept_snapshot")]
    return (
        f"SELECT position, coalesce(kept_snapshot, {delete.begin_snapshot}) AS ended "
        f"FROM {_read(delete.path, delete.encryption_key, fields)}"
    )


def _by_name(
    file: DataFile, columns: Sequence[Column], names: dict[int, str], schema: pa.Schema | None = None
) -> str:
    """DuckDB fills every field that it does not find by id with its default, so names must be asked for."""
    present = {name.lower(): name for name in (schema or _schema(file.path)).names}
    if _POSITION_NAME in present:
        raise UserError(
            f"the lake file {file.path} has a column {_POSITION_NAME}, which hides its rows' order"
        )
    selected = []
    for i, column in enumerate(columns):
        source = present.get(names.get(column.column_id, "").lower())
        if column.children and source is not None:
            raise UserError(
                f"the nested column {column.name} of a file without field ids is not supported yet",
                hint="rewrite the file: CREATE TABLE … AS SELECT * FROM …",
            )
        value = _default(column) if source is None else quote_name(source)
        selected.append(f"CAST({value} AS {column.duckdb}) AS c{i}")
    kept = "NULL::BIGINT AS kept_row_id, NULL::BIGINT AS kept_snapshot"
    return f"SELECT {', '.join([*selected, kept, _POSITION_NAME])} FROM {_read_plain(file)}"


def _schema(path: str) -> pa.Schema:
    try:
        return pq.read_schema(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(error) from error


def unreadable(error: Exception) -> SchemaError:
    return SchemaError(
        "a file of the lake cannot be read",
        detail=str(error).splitlines()[0],
        hint="its snapshot may have been expired and its files removed: read the newest snapshot",
    )


def _has_ids(schema: pa.Schema) -> bool:
    return any(b"PARQUET:field_id" in (field.metadata or {}) for field in schema)


def _read_plain(file: DataFile) -> str:
    key = (
        f", encryption_config = {_encryption(file.path, file.encryption_key)}" if file.encryption_key else ""
    )
    return f"read_parquet({quote_text(file.path)}{key})"


def _default(column: Column) -> str:
    return "NULL" if column.initial_default is None else quote_text(column.initial_default)


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
