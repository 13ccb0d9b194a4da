"""The Spark type that holds every value of a lake column, or a refusal by name."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import types as spark

from runnel.errors import UserError
from runnel.lake.spec import Column, Table

_SCALARS: dict[str, spark.DataType] = {
    "boolean": spark.BooleanType(),
    "int8": spark.ByteType(),
    "int16": spark.ShortType(),
    "int32": spark.IntegerType(),
    "int64": spark.LongType(),
    "int128": spark.DecimalType(38, 0),
    "uint8": spark.ShortType(),
    "uint16": spark.IntegerType(),
    "uint32": spark.LongType(),
    "uint64": spark.DecimalType(20, 0),
    "uint128": spark.DecimalType(38, 0),
    "float32": spark.FloatType(),
    "float64": spark.DoubleType(),
    "varchar": spark.StringType(),
    "json": spark.StringType(),
    "uuid": spark.StringType(),
    "blob": spark.BinaryType(),
    "date": spark.DateType(),
    "timestamp": spark.TimestampNTZType(),
    "timestamp_s": spark.TimestampNTZType(),
    "timestamp_ms": spark.TimestampNTZType(),
    "timestamptz": spark.TimestampType(),
}


def spark_schema(table: Table) -> spark.StructType:
    return spark.StructType(list(_fields(table, table.columns)))


def _fields(table: Table, columns: Iterable[Column]) -> Iterable[spark.StructField]:
    for column in columns:
        yield spark.StructField(column.name, _spark_type(table, column))


def _spark_type(table: Table, column: Column) -> spark.DataType:
    if parts := column.type.decimal:
        return spark.DecimalType(*parts)
    match column.type.text:
        case "list":
            return spark.ArrayType(_spark_type(table, column.children[0]))
        case "map":
            key, value = (_spark_type(table, child) for child in column.children)
            return spark.MapType(key, value)
        case "struct":
            return spark.StructType(list(_fields(table, column.children)))
        case text if text in _SCALARS:
            return _SCALARS[text]
        case text:
            raise UserError(
                f"the column {column.name} of {table.name} has the type {text}, which Spark cannot hold",
                hint="read a view or a copy of the table in which it is cast to text",
            )
