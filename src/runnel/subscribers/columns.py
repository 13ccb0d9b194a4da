"""How a result's columns travel from PostgreSQL into the lake without a value changing on the way.

integers, booleans, floats, bytes  as they are
dates and timestamps               as the integers that both sides count in; infinities are its extremes
declared numerics, known sums      as text, then DECIMAL; what does not fit is an error
other numerics                     as text, and stay text: no DECIMAL holds every average exactly
everything else                    as text, cast by DuckDB
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from runnel.catalog.client import Column
from runnel.errors import UserError
from runnel.lake.spec import DataType

_AS_IS = {
    "boolean": pa.bool_(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "real": pa.float32(),
    "double precision": pa.float64(),
    "bytea": pa.binary(),
}
_DAYS = (
    "CASE WHEN isfinite({0}) THEN {0} - date '1970-01-01'"
    " WHEN {0} > date '1970-01-01' THEN 2147483647 WHEN {0} < date '1970-01-01' THEN -2147483647 END"
)
_MICROSECONDS = (
    "CASE WHEN isfinite({0}) THEN (extract(epoch FROM {0}) * 1000000)::bigint"
    " WHEN {0} > '1970-01-01' THEN 9223372036854775807 WHEN {0} < '1970-01-01' THEN -9223372036854775807 END"
)
_TIMES = {
    "date": (_DAYS, pa.int32(), pa.date32()),
    "timestamp without time zone": (_MICROSECONDS, pa.int64(), pa.timestamp("us")),
    "timestamp with time zone": (_MICROSECONDS, pa.int64(), pa.timestamp("us", "UTC")),
}
_SCALE = 38


@dataclass(frozen=True, slots=True)
class SinkColumn:
    """One column of a stream table: its PostgreSQL type, and its type in the lake."""

    name: str
    type: str
    lake: DataType

    def carried(self, sql: str) -> str:
        """`sql` of this type as the expression that leaves PostgreSQL."""
        if self.type in _AS_IS:
            return sql
        base = _base(self.type)
        if base in _TIMES:
            return _TIMES[base][0].format(sql)
        return f"({sql})::text"

    def restored(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """What arrived, as Arrow values of the lake's type, or as text that DuckDB casts exactly."""
        base = _base(self.type)
        if base in _TIMES:
            return self._times(values, base)
        if self.lake.decimal is not None:
            return self._decimals(values)
        return values

    def _times(self, values: pa.ChunkedArray, base: str) -> pa.ChunkedArray:
        _, stored, shown = _TIMES[base]
        return pa.chunked_array([chunk.cast(stored).view(shown) for chunk in values.chunks], shown)

    def _decimals(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        try:
            return values.cast(self.lake.arrow)
        except pa.ArrowInvalid as error:
            raise UserError(
                f"the column {self.name} holds a value that {self.lake.duckdb} cannot hold",
                detail=str(error).splitlines()[0],
                hint="cast the column in the query to a numeric of another scale, or to text",
            ) from None


def sink_columns(columns: Iterable[Column], scales: Mapping[str, int]) -> tuple[SinkColumn, ...]:
    """The columns of a new sink; `scales` knows the scale of sums, which PostgreSQL's type does not show."""
    found = tuple(SinkColumn(c.name, c.type, _lake_type(c, scales.get(c.name))) for c in columns)
    names = [column.name.lower() for column in found]
    if len(set(names)) < len(names):
        raise UserError(
            "two columns of the stream table have names that differ in case only",
            hint="DuckDB does not tell them apart: rename one in the query",
        )
    return found


def _lake_type(column: Column, scale: int | None) -> DataType:
    base = _base(column.type)
    if column.type == "numeric":
        known = scale is not None and 0 <= scale <= _SCALE
        return DataType(f"decimal({_SCALE},{scale})" if known else "varchar")
    if base == "interval":
        raise UserError(
            f"the column {column.name} is an interval, which Parquet files cannot hold exactly",
            hint="cast it in the query, for example extract(epoch FROM …) or to text",
        )
    try:
        return DataType.from_postgres(column.type)
    except UserError as error:
        raise UserError(f"the column {column.name}: {error.message}", hint=error.hint) from None


def existing_columns(columns: Iterable[Column], types: Sequence[DataType]) -> tuple[SinkColumn, ...]:
    """The columns of a sink that is there: the lake's types were decided when it was made."""
    return tuple(SinkColumn(c.name, c.type, t) for c, t in zip(columns, types, strict=True))


def _base(type_: str) -> str:
    return re.sub(r"\([^)]*\)", "", type_).replace("  ", " ").strip()
