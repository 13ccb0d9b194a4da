"""Writes one Parquet file as DuckLake wants it: field ids, statistics, and a name used only once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import duckdb
import pyarrow as pa

from runnel.errors import TransientError, UserError
from runnel.lake import duck, objects
from runnel.lake.spec import Column, ColumnStatistics, quote_name, quote_text, uuid7

_CODECS = {"snappy", "zstd", "gzip", "lz4", "brotli", "uncompressed", "lz4_raw"}
_VERSIONS = {"1": "V1", "2": "V2", "V1": "V1", "V2": "V2"}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The lake's own options for new files."""

    compression: str = "snappy"
    compression_level: int | None = None
    parquet_version: str | None = None
    row_group_size: int | None = None

    @classmethod
    def from_lake(cls, options: Mapping[str, str]) -> Self:
        """From `LakeCatalog.options`; refuses lakes whose files must be encrypted."""
        if options.get("encrypted") == "true":
            raise UserError(
                "writing into an encrypted lake is not supported yet", hint="use a lake without ENCRYPTED"
            )
        compression = options.get("parquet_compression", "snappy").lower()
        if compression not in _CODECS:
            raise UserError(f"the lake's option parquet_compression is {compression}, which is not known")
        level = options.get("parquet_compression_level") if compression == "zstd" else None
        rows = options.get("parquet_row_group_size")
        return cls(
            compression,
            int(level) if level else None,
            _VERSIONS.get(options.get("parquet_version", "")),
            int(rows) if rows else None,
        )


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that lies in its table's directory and is known to nobody until it is committed."""

    path: str  # relative to the table's directory
    record_count: int
    file_size_bytes: int
    footer_size: int
    statistics: tuple[tuple[int, ColumnStatistics], ...]  # by column id, leaves only


def write_file(
    directory: str, rows: pa.Table, columns: Sequence[Column], options: WriteOptions | None = None
) -> WrittenFile:
    """Writes `rows` (the columns in this order, cast to the lake's types) as one file in `directory`."""
    if rows.num_columns != len(columns):
        raise ValueError(f"{rows.num_columns} columns of data for {len(columns)} columns of the table")
    path = f"ducklake-{uuid7()}.parquet"
    objects.make_directory(directory)
    count, size, footer, statistics = _copy(rows, columns, objects.join(directory, path), options)
    return WrittenFile(path, count, size, footer, tuple(_statistics(columns, statistics)))


def _copy(
    rows: pa.Table, columns: Sequence[Column], target: str, options: WriteOptions | None
) -> tuple[int, int, int, dict[str, dict[str, str]]]:
    source = rows.rename_columns([f"c{position}" for position in range(len(columns))])
    selected = ", ".join(
        f"CAST(c{position} AS {column.duckdb}) AS {quote_name(column.name)}"
        for position, column in enumerate(columns)
    )
    statement = (
        f"COPY (SELECT {selected} FROM source_rows) TO {quote_text(target)} "
        f"(FORMAT parquet, RETURN_STATS, FIELD_IDS {field_ids(columns)}, {_settings(options)})"
    )
    connection = duck.cursor()
    try:
        connection.register("source_rows", source)
        found: Any = connection.execute(statement).fetchone()
    except duckdb.IOException as error:
        raise TransientError(f"the lake file {target} could not be written", detail=str(error)) from error
    finally:
        connection.unregister("source_rows")
        connection.close()
    return found[1], found[2], found[3], found[4]


def _settings(given: WriteOptions | None) -> str:
    options = given or WriteOptions()
    settings = [f"COMPRESSION {options.compression}"]
    if options.compression_level is not None:
        settings.append(f"COMPRESSION_LEVEL {options.compression_level}")
    if options.parquet_version is not None:
        settings.append(f"PARQUET_VERSION {options.parquet_version}")
    if options.row_group_size is not None:
        settings.append(f"ROW_GROUP_SIZE {options.row_group_size}")
    return ", ".join(settings)


def field_ids(columns: Sequence[Column]) -> str:
    """DuckDB's FIELD_IDS for these columns and all their parts."""
    entries = []
    for column in columns:
        value = str(column.column_id)
        if column.children:
            value = f"{{__duckdb_field_id: {column.column_id}, {field_ids(column.children)[1:]}"
        entries.append(f"{quote_name(column.name)}: {value}")
    return "{" + ", ".join(entries) + "}"


def _statistics(
    columns: Sequence[Column], found: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[int, ColumnStatistics]]:
    leaves = {path: column.column_id for path, column in _leaf_paths(columns, ())}
    for text, values in found.items():
        column_id = leaves.get(_split_path(text))
        if column_id is None:
            continue
        nulls = int(values.get("null_count", 0))
        has_nan = values.get("has_nan")
        is_unstorable = any("\0" in values.get(bound, "") for bound in ("min", "max"))  # PostgreSQL's text
        yield (
            column_id,
            ColumnStatistics(
                size_bytes=int(values.get("column_size_bytes", 0)),
                value_count=int(values["num_values"]) - nulls,
                null_count=nulls,
                min_value=None if is_unstorable else values.get("min"),
                max_value=None if is_unstorable else values.get("max"),
                contains_nan=None if has_nan is None else has_nan == "true",
            ),
        )


def _leaf_paths(
    columns: Sequence[Column], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Column]]:
    for column in columns:
        path = (*above, column.name)
        if column.children:
            yield from _leaf_paths(column.children, path)
        else:
            yield path, column


def _split_path(text: str) -> tuple[str, ...]:
    """The parts of `"st"."a"`."""
    return tuple(part.replace('""', '"') for part in re.findall(r'"((?:[^"]|"")*)"', text))
