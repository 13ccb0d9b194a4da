"""What explain prints is what runs: its text against the server's own log of statements."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.conftest import Connect

from runnel.catalog import client
from runnel.delta import Gear
from runnel.refresh.compiled import Programs
from runnel.refresh.explain import explain
from runnel.refresh.model import Options
from runnel.refresh.round import Refresher
from runnel.servers import EmbeddedPostgres

_QUERY = """
    SELECT o.region, p.category, sum(o.total) AS revenue, count(DISTINCT o.customer) AS customers
    FROM orders o JOIN products p ON p.id = o.product WHERE o.status <> 'cancelled' GROUP BY o.region, p.category
"""


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _sections(printed: str) -> dict[str, list[str]]:
    """The printed statements by the title above them."""
    found: dict[str, list[str]] = {}
    for block in re.split(r"\n(?=-- )", printed):
        title, _, text = block.partition("\n")
        if title.startswith("-- ") and text.strip():
            found.setdefault(title.removeprefix("-- "), []).append(_flat(text))
    return found


@pytest.fixture
def shop(runnel_db: str, server: EmbeddedPostgres, connect: Connect) -> psycopg.Connection[Any]:
    """A join with a stream table over it, in a database that logs every statement."""
    conn = connect(runnel_db, autocommit=True)
    conn.execute("CREATE TABLE products (id int PRIMARY KEY, category text)")
    conn.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, product int, customer int, region text, total numeric(8,2),"
        " status text)"
    )
    conn.execute("INSERT INTO products SELECT i, 'c' || i % 2 FROM generate_series(1, 4) AS i")
    conn.execute(
        "INSERT INTO orders SELECT i, 1 + i % 4, i % 3, 'r' || i % 2, i, 'new' FROM generate_series(1, 40) AS i"
    )
    conn.execute("SELECT pgtrickle.create_stream_table('sums', %s, '1s')", [_QUERY])
    log_all = sql.SQL("ALTER DATABASE {} SET log_statement = 'all'").format(sql.Identifier(conn.info.dbname))
    connect(server.dsn_of(conn.info.dbname), autocommit=True).execute(log_all)
    return conn


@pytest.mark.parametrize("gear", ["first", "second"])
def test_what_is_printed_is_what_runs(
    shop: psycopg.Connection[Any], runnel_db: str, server: EmbeddedPostgres, spark: Any, gear: Gear
) -> None:
    (table,) = client.load_stream_tables(shop)
    sections = _sections(explain(Programs().get(shop, table), gear))
    refresher = Refresher(runnel_db, spark, Options(gear="second" if gear == "second" else None))
    (filled,) = refresher.refresh([table.pgt_id])
    assert filled.error is None
    shop.execute("UPDATE orders SET total = total + 1 WHERE id < 5")
    shop.execute("UPDATE products SET category = 'c9' WHERE id = 2")
    before = server.log.stat().st_size
    (outcome,) = refresher.refresh([table.pgt_id])
    refresher.close()
    assert (outcome.mode, outcome.gear) == ("DIFFERENTIAL", gear)
    with server.log.open() as log:
        log.seek(before)
        ran = _flat(log.read())
    reads = [
        text
        for title, texts in sections.items()
        if ": changes" in title or "by key" in title
        for text in texts
    ]
    applies = [text for title, texts in sections.items() if title.startswith("apply Δ") for text in texts]
    assert (len(reads), len(applies)) == (4, 2)
    for text in reads:
        assert text in ran
    for text in applies:
        assert text in ran
    scans = [text for title, texts in sections.items() if ": scan" in title for text in texts]
    assert not any(text in ran for text in scans)
