"""What a lake consists of, as frozen values that can travel between processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from uuid import UUID

import pyarrow as pa

from runnel.lake.spec.names import quote_name
from runnel.lake.spec.types import DataType


@dataclass(frozen=True, slots=True)
class Snapshot:
    snapshot_id: int
    taken_at: datetime
    schema_version: int
    next_catalog_id: int
    next_file_id: int


@dataclass(frozen=True, slots=True)
class Column:
    """A column or, below a list, struct or map, one of its parts; the id is its Parquet field id."""

    column_id: int
    name: str
    type: DataType
    nulls_allowed: bool = True
    initial_default: str | None = None  # what rows of older files hold
    children: tuple[Column, ...] = ()

    @property
    def duckdb(self) -> str:
        return self._sql_type([child.duckdb for child in self.children]) or self.type.duckdb

    @property
    def exported(self) -> str:
        """The DuckDB type whose Arrow form is `arrow`."""
        return self._sql_type([child.exported for child in self.children]) or self.type.exported

    @property
    def arrow(self) -> pa.DataType:
        match self.type.text:
            case "list":
                return pa.list_(self.children[0].arrow)
            case "map":
                return pa.map_(self.children[0].arrow, self.children[1].arrow)
            case "struct":
                return pa.struct([(child.name, child.arrow) for child in self.children])
            case _:
                return self.type.arrow

    def _sql_type(self, parts: list[str]) -> str | None:
        match self.type.text:
            case "list":
                return f"{parts[0]}[]"
            case "map":
                return f"MAP({parts[0]}, {parts[1]})"
            case "struct":
                members = zip(self.children, parts, strict=True)
                return f"STRUCT({', '.join(f'{quote_name(child.name)} {part}' for child, part in members)})"
            case _:
                return None


def flatten(columns: Iterable[Column]) -> Iterator[Column]:
    """Every column with its parts, depth first: the order in which ids are given."""
    for column in columns:
        yield column
        yield from flatten(column.children)


def new_columns(columns: Sequence[tuple[str, DataType]]) -> tuple[Column, ...]:
    """The columns of a table that does not exist yet."""
    ids = count(1)
    return tuple(Column(next(ids), name, data_type) for name, data_type in columns)


@dataclass(frozen=True, slots=True)
class TableName:
    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table at one snapshot. Its uuid is its identity; `table_id` is None until it is created."""

    table_id: int | None
    uuid: UUID
    name: TableName
    path: str  # relative to its schema's directory
    directory: str  # where its files lie
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column | None:
        """By name, as DuckDB finds it: case does not matter."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)

    def with_id(self, table_id: int) -> Table:
        return replace(self, table_id=table_id)


@dataclass(frozen=True, slots=True)
class DeleteFile:
    path: str
    begin_snapshot: int
    encryption_key: str | None = None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file with everything that was deleted from it up to a snapshot."""

    data_file_id: int
    path: str
    begin_snapshot: int
    end_snapshot: int | None
    record_count: int
    row_id_start: int | None
    encryption_key: str | None = None
    mapping: tuple[tuple[int, str], ...] | None = None  # column ids and the file's own names for them
    partial_max: int | None = None
    deletes: tuple[DeleteFile, ...] = ()
    inlined_deletes: tuple[tuple[int, int], ...] = ()  # (position, snapshot)
    rewrites: frozenset[int] = frozenset()  # snapshots by which no row of this file truly began

    def is_older_than(self, snapshot_id: int) -> bool:
        """No row of it began after that snapshot, nor ended otherwise than by its deletes."""
        if self.end_snapshot is not None:
            return False
        is_copy = self.partial_max is None and self.begin_snapshot in self.rewrites
        return is_copy or max(self.begin_snapshot, self.partial_max or 0) <= snapshot_id


@dataclass(frozen=True, slots=True)
class InlinedTable:
    """A PostgreSQL table of inlined rows, with the columns that its table had at that schema version."""

    name: str
    schema_version: int
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    name: TableName
    sql: str
    view_id: int
    tags: tuple[tuple[str, str], ...] = ()
