"""Spark reads what DuckDB and we have written, at any snapshot, with exact types."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import psycopg
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests.integration.lake.judge import Lake

from runnel.lake.commit import Append
from runnel.lake.files import write_file
from runnel.lake.spark import register

_COLUMNS = {
    "id": "INTEGER",
    "amount": "DECIMAL(38,2)",
    "seen": "TIMESTAMPTZ",
    "wall": "TIMESTAMP",
    "day": "DATE",
    "name": "VARCHAR",
    "is_on": "BOOLEAN",
    "tiny": "UTINYINT",
    "huge": "HUGEINT",
    "unsigned": "UBIGINT",
    "ratio": "DOUBLE",
    "single": "FLOAT",
    "raw": "BLOB",
    "seconds": "TIMESTAMP_S",
    "tags": "VARCHAR[]",
    "origin": "STRUCT(x INTEGER, y VARCHAR[])",
    "props": "MAP(VARCHAR, DECIMAL(10,2))",
}
_ROW = """
    i, (i * 1.25)::DECIMAL(38,2), '2024-01-01 00:00:00.123456+00'::TIMESTAMPTZ + i * INTERVAL '1 hour',
    '1900-01-01 00:00:00'::TIMESTAMP + i * INTERVAL '1 day', DATE '2024-01-01' + i::INTEGER,
    CASE WHEN i % 4 = 0 THEN NULL ELSE 'ü' || i END, i % 2 = 0, i % 256, i, 18446744073709551615 - i, i / 3.0,
    i / 3.0, ('b' || i)::BLOB, '2024-01-01 00:00:01', ['t' || i, NULL], {'x': i::INTEGER, 'y': ['y' || i]},
    MAP {'k' || i: i::DECIMAL(10,2)}
"""


def read(spark: SparkSession, lake: Lake, table: str, **options: Any) -> DataFrame:
    register(spark)
    reader = spark.read.format("ducklake").option("catalog", lake.dsn)
    return reader.option("metadata_schema", "ducklake").options(**options).load(table)


@pytest.fixture
def orders(lake: Lake, judge: duckdb.DuckDBPyConnection) -> Lake:
    """Files, a delete file, inlined rows and deletes, a column that came later; by DuckDB and by us."""
    columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
    judge.execute(f"CREATE TABLE orders_archive ({columns})")
    judge.execute(f"INSERT INTO orders_archive SELECT {_ROW} FROM range(100) r(i)")  # snapshot 2
    judge.execute("DELETE FROM orders_archive WHERE id BETWEEN 10 AND 40")
    judge.execute(f"INSERT INTO orders_archive SELECT {_ROW} FROM range(100, 105) r(i)")
    judge.execute("DELETE FROM orders_archive WHERE id IN (2, 101)")
    table = lake.table("orders_archive")
    rows = judge.execute(f"SELECT {_ROW} FROM range(200, 203) r(i)").to_arrow_table()
    lake.commit(Append(table, (write_file(table.directory, rows, table.columns),)))
    judge.execute("ALTER TABLE orders_archive ADD COLUMN note VARCHAR DEFAULT 'none'")
    return lake


def test_now_and_at_an_older_version(
    spark: SparkSession, orders: Lake, judge: duckdb.DuckDBPyConnection
) -> None:
    fresh = orders.attach()
    for version in (None, 3, 5):
        options = {} if version is None else {"version": version}
        frame = read(spark, orders, "main.orders_archive", **options)
        at = orders.newest() if version is None else version
        wanted = fresh.execute(f"FROM orders_archive AT (VERSION => {at})").to_arrow_table()
        assert frame.columns == wanted.column_names
        # Each value as text: what Spark holds has another Python class here and there.
        assert Counter(map(_text, frame.toArrow().to_pylist())) == Counter(map(_text, wanted.to_pylist())), (
            version
        )


def test_types_are_exact(spark: SparkSession, orders: Lake) -> None:
    kinds = dict(read(spark, orders, "main.orders_archive").dtypes)
    assert kinds == {
        "id": "int",
        "amount": "decimal(38,2)",
        "seen": "timestamp",
        "wall": "timestamp_ntz",
        "day": "date",
        "name": "string",
        "is_on": "boolean",
        "tiny": "smallint",
        "huge": "decimal(38,0)",
        "unsigned": "decimal(20,0)",
        "ratio": "double",
        "single": "float",
        "raw": "binary",
        "seconds": "timestamp_ntz",
        "tags": "array<string>",
        "origin": "struct<x:int,y:array<string>>",
        "props": "map<string,decimal(10,2)>",
        "note": "string",
    }


def test_sql_over_the_lake(spark: SparkSession, orders: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    read(spark, orders, "orders_archive").createOrReplaceTempView("archive")
    query = "SELECT is_on, count(*), sum(amount), max(seen) IS NOT NULL FROM {} GROUP BY is_on ORDER BY 1"
    ours = [tuple(row) for row in spark.sql(query.format("archive")).collect()]
    assert ours == judge.execute(query.format("orders_archive")).fetchall()


def test_a_frame_stays_at_its_snapshot(
    spark: SparkSession, orders: Lake, judge: duckdb.DuckDBPyConnection
) -> None:
    frame = read(spark, orders, "orders_archive")
    plan = frame._jdf.queryExecution().toString()
    assert str(psycopg.conninfo.conninfo_to_dict(orders.dsn)["password"]) not in plan
    count = frame.count()
    judge.execute("DELETE FROM orders_archive")
    assert frame.count() == count
    assert read(spark, orders, "orders_archive").count() == 0


def test_one_clear_message_and_no_password(spark: SparkSession, orders: Lake, judge: Any) -> None:
    judge.execute("CREATE TABLE times (t TIME)")
    password = str(psycopg.conninfo.conninfo_to_dict(orders.dsn)["password"])
    nowhere = psycopg.conninfo.make_conninfo(orders.dsn, port=1)
    cases = [
        ({}, "main.nope", "the lake has no table main.nope"),
        ({"version": 99}, "orders_archive", "the lake's snapshot 99 does not exist"),
        ({"version": "latest"}, "orders_archive", 'the option "version" is latest'),
        ({"metadata_schema": "public"}, "orders_archive", 'no DuckLake catalog in the schema "public"'),
        ({"catalog": nowhere}, "orders_archive", "the database of the lake's catalog cannot be reached"),
        ({"catalog": ""}, "orders_archive", 'reading a lake needs the option "catalog"'),
        ({}, "a.b.c", "reading a lake needs the name of a table"),
        ({}, "times", "the column t of main.times has the type time, which Spark cannot hold"),
    ]
    for options, table, message in cases:
        with pytest.raises(PySparkException) as failure:
            read(spark, orders, table, **options)
        assert message in str(failure.value)
        assert password not in str(failure.value)


def _text(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(value) for value in row.values())
