"""A lake's tables become known to PostgreSQL, which then checks queries over them by itself."""

from __future__ import annotations

from pathlib import Path

import duckdb
import psycopg
import pytest
from tests.integration.lake.judge import Lake

from runnel.catalog import client
from runnel.lake.catalog import LakeCatalog, create_lake

from .conftest import World, create, one

TABLES = """
    CREATE TABLE lake.events (product_id integer, amount decimal(10, 2), seen_at timestamptz,
                              note varchar, day date);
    CREATE TABLE lake.nested (id bigint, tags varchar[]);
    CREATE SCHEMA lake.sales;
    CREATE TABLE lake.sales.items (id bigint, big hugeint, ok boolean, raw blob, id2 uuid, f float, d double);
"""


@pytest.fixture
def lake(world: World, tmp_path: Path) -> Lake:
    path = str(tmp_path / "data")
    create_lake(world.engine_dsn, "ducklake", path)
    return Lake(world.engine_dsn, path, LakeCatalog("ducklake"), world.engine)


def attach(world: World, *arguments: object) -> list[str]:
    marks = ", ".join(["%s"] * len(arguments))
    rows = world.engine.execute(f"SELECT pgtrickle.attach_lake({marks})::text ORDER BY 1".encode(), arguments)
    return [row[0] for row in rows]


@pytest.fixture
def duck(lake: Lake) -> duckdb.DuckDBPyConnection:
    connection = lake.attach()
    connection.execute(TABLES)
    return connection


def test_a_stream_table_over_a_lake(world: World, duck: duckdb.DuckDBPyConnection) -> None:
    warnings: list[str] = []
    world.engine.add_notice_handler(lambda notice: warnings.append(str(notice.message_primary)))
    assert attach(world, "lake") == ["lake.events", "lake_sales.items"]
    assert warnings == ["lake table main.nested is left out: column tags has type list"]
    world.engine.execute(f"GRANT USAGE ON SCHEMA lake TO {world.alice.info.user}".encode())
    world.engine.execute(f"GRANT SELECT ON lake.events TO {world.alice.info.user}".encode())
    create(
        world.alice,
        "revenue_by_product",
        "SELECT product_id, SUM(amount) AS total_revenue FROM lake.events GROUP BY product_id",
        schedule="5s",
        refresh_mode="DIFFERENTIAL",
    )
    (table,) = client.load_stream_tables(world.engine)
    (source,) = table.dependencies
    assert (source.kind, source.lake_schema, source.lake_table) == ("lake", "main", "events")
    assert [(c.name, c.type) for c in source.columns] == [
        ("product_id", "integer"),
        ("amount", "numeric(10,2)"),
        ("seen_at", "timestamp with time zone"),
        ("note", "text"),
        ("day", "date"),
    ]
    (own,) = client.load_lakes(world.engine)
    assert (own.lake_id, own.is_own, own.metadata_schema) == (source.lake_id, True, "ducklake")
    assert client.check_rights(world.engine, table.pgt_id) is None
    with pytest.raises(psycopg.Error, match=r"may not read lake_sales.items"):
        world.engine.execute(f"GRANT USAGE ON SCHEMA lake_sales TO {world.alice.info.user}".encode())
        create(world.alice, "items", "SELECT id FROM lake_sales.items")


def test_selecting_from_a_stub_says_what_to_do(world: World, duck: duckdb.DuckDBPyConnection) -> None:
    attach(world, "lake")
    for query in ("SELECT * FROM lake.events", "SELECT count(*) FROM lake.events"):
        with pytest.raises(psycopg.Error, match=r"lake.events is a lake table") as caught:
            world.engine.execute(query.encode())
        assert "create_stream_table" in str(caught.value.diag.message_hint)


def test_attaching_again_takes_new_tables_and_columns(world: World, duck: duckdb.DuckDBPyConnection) -> None:
    attach(world, "lake")
    create(world.engine, "public.notes", "SELECT note FROM lake.events")
    duck.execute("ALTER TABLE lake.events ADD COLUMN extra integer; CREATE TABLE lake.young (a integer)")
    assert attach(world, "lake") == ["lake.events", "lake.young", "lake_sales.items"]
    assert (
        one(world.engine, "SELECT count(*) FROM pg_attribute WHERE attrelid = 'lake.events'::regclass") == 6
    )
    duck.execute("ALTER TABLE lake.events DROP COLUMN day")
    with pytest.raises(psycopg.Error, match=r"lake table lake.events has changed"):
        attach(world, "lake")


def test_wrong_catalogs(world: World, duck: duckdb.DuckDBPyConnection) -> None:
    world.engine.execute("CREATE SCHEMA old_lake CREATE TABLE ducklake_metadata (key text, value text)")
    world.engine.execute("INSERT INTO old_lake.ducklake_metadata VALUES ('version', '0.3')")
    for arguments, message, hint in [
        (("sea",), "lake sea: schema public of this database holds no DuckLake catalog", "'ducklake'"),
        (("sea", None, "nowhere"), "schema nowhere of this database holds no DuckLake", "'ducklake'"),
        (("sea", None, "old_lake"), "has a catalog of version 0.3", "1.0"),
        (("sea", "dbname=other"), "catalog in another database is not offered yet", "Leave catalog out"),
        (("lake", None, "old_lake"), "lake lake is attached already", "another name"),
        (("Sea", None, "ducklake"), "is not a name for a lake", "lower case"),
        (("ducklake", None, "ducklake"), "schema ducklake exists and is not the lake's", "another name"),
    ]:
        with pytest.raises(psycopg.Error) as caught:
            attach(world, *arguments)
        assert message in str(caught.value.diag.message_primary)
        assert hint in str(caught.value.diag.message_hint)
    assert len(client.load_lakes(world.engine)) == 1
    assert attach(world, "sea", None, "ducklake") == ["sea.events", "sea_sales.items"]
