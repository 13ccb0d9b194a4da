"""One place that knows a DuckLake type's name in DuckDB, in Arrow and in PostgreSQL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from runnel.errors import UserError

_DECIMAL = re.compile(r"^(?:decimal|numeric)\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)$")
_MAX_PRECISION = 38
NESTED = ("list", "struct", "map")


@dataclass(frozen=True, slots=True)
class _Scalar:
    duckdb: str
    arrow: pa.DataType
    postgres: str | None  # what a column of PostgreSQL needs to hold every value
    inlined: str  # what DuckDB uses in its tables of inlined rows


# int128 leaves DuckDB as decimal(38,0): a value that does not fit is an error, never another value.
_SCALARS: dict[str, _Scalar] = {
    "boolean": _Scalar("BOOLEAN", pa.bool_(), "boolean", "boolean"),
    "int8": _Scalar("TINYINT", pa.int8(), "smallint", "smallint"),
    "int16": _Scalar("SMALLINT", pa.int16(), "smallint", "smallint"),
    "int32": _Scalar("INTEGER", pa.int32(), "integer", "integer"),
    "int64": _Scalar("BIGINT", pa.int64(), "bigint", "bigint"),
    "int128": _Scalar("HUGEINT", pa.decimal128(38, 0), "numeric(39,0)", "varchar"),
    "uint8": _Scalar("UTINYINT", pa.uint8(), "smallint", "smallint"),
    "uint16": _Scalar("USMALLINT", pa.uint16(), "integer", "integer"),
    "uint32": _Scalar("UINTEGER", pa.uint32(), "bigint", "bigint"),
    "uint64": _Scalar("UBIGINT", pa.uint64(), "numeric(20,0)", "varchar"),
    "uint128": _Scalar("UHUGEINT", pa.decimal128(38, 0), "numeric(39,0)", "varchar"),
    "float32": _Scalar("FLOAT", pa.float32(), "real", "real"),
    "float64": _Scalar("DOUBLE", pa.float64(), "double precision", "double precision"),
    "varchar": _Scalar("VARCHAR", pa.string(), "text", "bytea"),
    "json": _Scalar("JSON", pa.string(), "json", "bytea"),
    "blob": _Scalar("BLOB", pa.binary(), "bytea", "bytea"),
    "uuid": _Scalar("UUID", pa.string(), "uuid", "uuid"),
    "date": _Scalar("DATE", pa.date32(), "date", "varchar"),
    "time": _Scalar("TIME", pa.time64("us"), "time without time zone", "time"),
    "timestamp": _Scalar("TIMESTAMP", pa.timestamp("us"), "timestamp without time zone", "varchar"),
    "timestamp_s": _Scalar("TIMESTAMP_S", pa.timestamp("s"), "timestamp without time zone", "varchar"),
    "timestamp_ms": _Scalar("TIMESTAMP_MS", pa.timestamp("ms"), "timestamp without time zone", "varchar"),
    "timestamp_ns": _Scalar("TIMESTAMP_NS", pa.timestamp("ns"), None, "varchar"),
    "timestamptz": _Scalar(
        "TIMESTAMP WITH TIME ZONE", pa.timestamp("us", "UTC"), "timestamp with time zone", "varchar"
    ),
    "interval": _Scalar("INTERVAL", pa.month_day_nano_interval(), "interval", "interval"),
}

_EXPORTED = {"int128": "DECIMAL(38,0)", "uint128": "DECIMAL(38,0)", "json": "VARCHAR", "uuid": "VARCHAR"}

# How PostgreSQL's format_type() and people write a type, without its modifier.
_FROM_POSTGRES = {
    "boolean": "boolean",
    "bool": "boolean",
    "smallint": "int16",
    "int2": "int16",
    "integer": "int32",
    "int": "int32",
    "int4": "int32",
    "bigint": "int64",
    "int8": "int64",
    "real": "float32",
    "float4": "float32",
    "double precision": "float64",
    "float8": "float64",
    "text": "varchar",
    "character varying": "varchar",
    "varchar": "varchar",
    "character": "varchar",
    "name": "varchar",
    "bytea": "blob",
    "date": "date",
    "time without time zone": "time",
    "time": "time",
    "timestamp without time zone": "timestamp",
    "timestamp": "timestamp",
    "timestamp with time zone": "timestamptz",
    "timestamptz": "timestamptz",
    "uuid": "uuid",
    "json": "json",
    "jsonb": "json",
    "interval": "interval",
}
_LENGTH = re.compile(r"\s*\(\s*\d+\s*\)")


@dataclass(frozen=True, slots=True)
class DataType:
    """A type as the catalog writes it: `int32`, `decimal(10,2)`, `list`."""

    text: str

    @property
    def decimal(self) -> tuple[int, int] | None:
        """Precision and scale of a decimal."""
        if found := _DECIMAL.match(self.text):
            return int(found[1]), int(found[2])
        return None

    @property
    def is_nested(self) -> bool:
        return self.text in NESTED

    @property
    def duckdb(self) -> str:
        if parts := self.decimal:
            return "DECIMAL({},{})".format(*parts)
        return self._scalar().duckdb

    @property
    def exported(self) -> str:
        """The DuckDB type whose Arrow form is `arrow`."""
        return _EXPORTED.get(self.text, self.duckdb)

    @property
    def arrow(self) -> pa.DataType:
        if parts := self.decimal:
            return pa.decimal128(*parts)
        return self._scalar().arrow

    @property
    def postgres(self) -> str:
        if parts := self.decimal:
            return "numeric({},{})".format(*parts)
        if (name := None if self.is_nested else self._scalar().postgres) is None:
            raise UserError(
                f"the lake type {self.text} has no counterpart in PostgreSQL",
                hint="leave this column out, or store it in the lake as text",
            )
        return name

    @property
    def inlined(self) -> str:
        """The type of this column in a table of inlined rows."""
        if self.is_nested:
            return "varchar"
        if parts := self.decimal:
            return "numeric({},{})".format(*parts)
        return self._scalar().inlined

    @classmethod
    def from_postgres(cls, text: str) -> Self:
        """The lake type of a column whose type `format_type()` prints so."""
        plain = text.strip().lower()
        if (found := _DECIMAL.match(plain)) and int(found[1]) <= _MAX_PRECISION:
            return cls(f"decimal({int(found[1])},{int(found[2])})")
        name = _FROM_POSTGRES.get(_LENGTH.sub("", plain))
        if name is None:
            raise UserError(
                f"the type {text} has no counterpart in the lake",
                hint="cast the column in the query, for example to numeric(38,9) or to text",
            )
        return cls(name)

    @classmethod
    def from_arrow(cls, arrow: pa.DataType) -> Self:
        """The lake type of a flat Arrow type."""
        if pa.types.is_decimal(arrow):
            return cls(f"decimal({arrow.precision},{arrow.scale})")
        if pa.types.is_timestamp(arrow) and arrow.tz is not None:
            return cls("timestamptz")
        if pa.types.is_large_string(arrow) or pa.types.is_large_binary(arrow):
            return cls("varchar" if pa.types.is_large_string(arrow) else "blob")
        for name, scalar in _SCALARS.items():
            if scalar.arrow == arrow:
                return cls(name)
        raise UserError(f"the Arrow type {arrow} has no counterpart in the lake")

    def _scalar(self) -> _Scalar:
        if (scalar := _SCALARS.get(self.text)) is None:
            raise UserError(
                f"the lake type {self.text} is not supported yet", hint="read the other columns only"
            )
        return scalar
