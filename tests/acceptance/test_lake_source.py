"""The lake as a source: a stream table over a table that DuckDB writes, refreshed from its change feed alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from runnel.lake import duck
from runnel.lake.create import attach_statements, create_lake
from runnel.refresh.model import Outcome
from runnel.refresh.round import Refresher
from runnel.refresh.verify import verify

_QUERY = "SELECT product_id, SUM(amount) AS total_revenue FROM lake.events GROUP BY product_id"


class Shop:
    """A lake with a table of events, DuckDB as its writer, and one stream table over it."""

    def __init__(self, dsn: str, folder: Path, spark: Any) -> None:
        create_lake(dsn, "ducklake", str(folder))
        self.folder = folder
        self.writer = duck.connect(("ducklake", "postgres_scanner"))
        for statement in attach_statements(dsn, "ducklake", "lake"):
            self.writer.execute(statement)
        self.write("CREATE TABLE lake.events (product_id BIGINT, amount DECIMAL(10,2))")
        self.conn = psycopg.connect(dsn, autocommit=True)
        self.conn.execute("SELECT pgtrickle.attach_lake('lake', metadata_schema => 'ducklake')")
        self.refresher = Refresher(dsn, spark)

    def write(self, statement: str) -> None:
        self.writer.execute(statement)

    def create(self, name: str, query: str) -> int:
        self.conn.execute(
            "SELECT pgtrickle.create_stream_table(name => %s, query => %s, schedule => '5s',"
            " refresh_mode => 'DIFFERENTIAL')",
            [name, query],
        )
        row = self.conn.execute(
            "SELECT pgt_id FROM pgtrickle.pgt_stream_tables WHERE relid = %s::regclass", [name]
        ).fetchone()
        assert row is not None
        return int(row[0])

    def refresh(self, pgt_id: int) -> Outcome:
        (outcome,) = self.refresher.refresh([pgt_id])
        assert outcome.error is None, outcome.error
        return outcome

    def agree(self, table: str, query: str) -> None:
        """The stream table against DuckDB's own answer over the lake, text by text."""
        wanted = sorted(map(_text, self.writer.execute(query).fetchall()), key=str)
        present = sorted(map(_text, self.conn.execute(f"SELECT * FROM {table}".encode()).fetchall()), key=str)
        assert present == wanted

    def hide_files(self) -> list[Path]:
        """Makes every data file that there is now unreadable, for root as well."""
        files = list(self.folder.rglob("*.parquet"))
        for file in files:
            file.rename(file.with_suffix(".hidden"))
        return files

    def close(self) -> None:
        self.refresher.close()
        self.conn.close()
        self.writer.close()


def _text(row: tuple[Any, ...]) -> tuple[str | None, ...]:
    return tuple(None if value is None else str(value) for value in row)


@pytest.fixture
def shop(runnel_db: str, tmp_path: Path, spark: Any) -> Iterator[Shop]:
    made = Shop(runnel_db, tmp_path / "lake", spark)
    yield made
    made.close()


def test_a_stream_table_follows_what_duckdb_writes(shop: Shop) -> None:
    shop.write("INSERT INTO lake.events SELECT i % 7, i * 1.25 FROM range(200) r(i)")
    revenue = shop.create("revenue_by_product", _QUERY)
    assert shop.refresh(revenue).reason == "first fill"
    shop.agree("revenue_by_product", _QUERY)
    for statement in (
        "INSERT INTO lake.events VALUES (1, 10.50), (8, 0.01), (NULL, 3)",  # few rows: inlined
        "INSERT INTO lake.events SELECT 3, i FROM range(50) r(i)",
        "DELETE FROM lake.events WHERE product_id = 2",
        "UPDATE lake.events SET amount = amount + 1, product_id = 9 WHERE product_id = 5",
        "DELETE FROM lake.events WHERE product_id = 8",
        "CALL ducklake_flush_inlined_data('lake')",
        "INSERT INTO lake.events VALUES (9, 1)",
        "CALL ducklake_merge_adjacent_files('lake')",
    ):
        shop.write(statement)
        outcome = shop.refresh(revenue)
        assert outcome.mode in ("DIFFERENTIAL", None), outcome
        shop.agree("revenue_by_product", _QUERY)


def test_a_refresh_reads_no_file_older_than_its_frontier(shop: Shop) -> None:
    shop.write("INSERT INTO lake.events SELECT i % 7, i * 1.25 FROM range(200) r(i)")
    revenue = shop.create("revenue_by_product", _QUERY)
    shop.refresh(revenue)
    assert shop.hide_files()
    shop.write("INSERT INTO lake.events SELECT 3, i FROM range(50) r(i)")
    shop.write("INSERT INTO lake.events VALUES (3, 0.25)")
    outcome = shop.refresh(revenue)
    assert (outcome.mode, outcome.rows_in) == ("DIFFERENTIAL", 51)
    found = shop.conn.execute("SELECT total_revenue FROM revenue_by_product WHERE product_id = 3").fetchone()
    expected = sum(i * 1.25 for i in range(200) if i % 7 == 3) + sum(range(50)) + 0.25
    assert found is not None and float(found[0]) == expected


def test_a_lake_table_joins_a_table_of_postgresql(shop: Shop) -> None:
    shop.conn.execute("CREATE TABLE products (id int PRIMARY KEY, name text)")
    shop.conn.execute("INSERT INTO products SELECT i, 'product ' || i FROM generate_series(0, 6) AS i")
    shop.write("INSERT INTO lake.events SELECT i % 7, i * 1.25 FROM range(100) r(i)")
    query = (
        "SELECT p.name, count(*) AS events, sum(e.amount) AS revenue, max(e.amount) AS highest"
        " FROM {events} e JOIN {products} p ON p.id = e.product_id GROUP BY p.name"
    )
    by_name = shop.create("by_name", query.format(events="lake.events", products="products"))
    shop.refresh(by_name)
    for change in ("INSERT INTO lake.events VALUES (2, 100)", "DELETE FROM lake.events WHERE product_id = 3"):
        shop.write(change)
        shop.conn.execute("UPDATE products SET name = name || '!' WHERE id IN (1, 2)")
        assert shop.refresh(by_name).mode == "DIFFERENTIAL"
        shop.writer.register("products", _arrow(shop.conn))
        shop.agree("by_name", query.format(events="lake.events", products="products"))


def _arrow(conn: psycopg.Connection[Any]) -> pa.Table:
    rows = conn.execute("SELECT id, name FROM products").fetchall()
    return pa.table({"id": [row[0] for row in rows], "name": [row[1] for row in rows]})


def test_selecting_from_the_lake_in_postgresql_says_what_to_do(shop: Shop) -> None:
    with pytest.raises(psycopg.errors.Error, match="lake") as caught:
        shop.conn.execute("SELECT * FROM lake.events")
    assert caught.value.diag.message_hint


def test_an_unmaintained_construct_over_a_lake_is_refused_by_name(shop: Shop) -> None:
    shop.conn.execute(
        "SELECT pgtrickle.create_stream_table('top', 'SELECT product_id FROM lake.events LIMIT 3', '5s')"
    )
    row = shop.conn.execute("SELECT max(pgt_id) FROM pgtrickle.pgt_stream_tables").fetchone()
    assert row is not None
    (outcome,) = shop.refresher.refresh([row[0]])
    assert outcome.error is not None and "LIMIT" in str(outcome.error)


def test_verify_of_a_stream_table_over_a_lake(shop: Shop) -> None:
    shop.write("INSERT INTO lake.events SELECT i % 7, i * 1.25 FROM range(20) r(i)")
    revenue = shop.create("revenue_by_product", _QUERY)
    shop.refresh(revenue)
    assert verify(shop.refresher, revenue).ok
    shop.conn.execute("UPDATE revenue_by_product SET total_revenue = 0 WHERE product_id = 3")
    assert not verify(shop.refresher, revenue).ok
