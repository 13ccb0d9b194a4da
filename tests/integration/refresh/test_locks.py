"""No deadlock and no hang: whatever happens to a stream table or a source while it is refreshed, one of two ends."""

from __future__ import annotations

from time import monotonic

import psycopg
import pytest
from tests.integration.refresh.conftest import Hold, Shop

from runnel.errors import SchemaError, TransientError

POINTS = ("after-snapshot", "after-staging", "before-commit")
DISTURBANCES = {
    "drop the stream table": "SELECT pgtrickle.drop_stream_table('by_category')",
    "alter its schedule": "SELECT pgtrickle.alter_stream_table('by_category', schedule => '2s')",
    "pause it": "SELECT pgtrickle.pause_stream_table('by_category')",
    "drop a source": "DROP TABLE products CASCADE",
    "truncate a source": "TRUNCATE products",
    "add a column to a source": "ALTER TABLE products ADD COLUMN origin text",
    "index a source": "CREATE INDEX ON products (category)",
    "drop the result": "DROP TABLE by_category",
}


@pytest.mark.parametrize("disturbance", DISTURBANCES)
@pytest.mark.parametrize("point", POINTS)
def test_ends_cleanly(shop: Shop, hold: Hold, point: str, disturbance: str) -> None:
    shop.create("by_category", "by_region")
    shop.settle()
    shop.conn.execute("UPDATE orders SET total = total + 1; UPDATE products SET category = 'x' WHERE id = 1")
    held = hold(point, shop.refresh)
    started = monotonic()
    shop.conn.execute("SET lock_timeout = '300ms'")
    try:
        shop.conn.execute(DISTURBANCES[disturbance].encode())
        done = True
    except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled):
        done = False
    assert monotonic() - started < 10
    found = held.let_go()
    assert not isinstance(found, Exception) or isinstance(found, TransientError), found
    if isinstance(found, dict):
        errors = [outcome.error for outcome in found.values() if outcome.error]
        assert all(isinstance(error, TransientError | SchemaError) for error in errors), errors
    _goes_on(shop, disturbance, done)


def _goes_on(shop: Shop, disturbance: str, done: bool) -> None:
    """Whoever is left is refreshed and right; a disturbance that gave up can be tried again."""
    if not done:
        shop.conn.execute(DISTURBANCES[disturbance].encode())
    shop.conn.execute("INSERT INTO orders (product, region, total) VALUES (2, 'r9', 5)")
    outcomes = shop.refresh()
    assert outcomes["by_region"].error is None
    shop.check("by_region")
    if disturbance.startswith("drop"):
        assert "by_category" not in outcomes or outcomes["by_category"].error is not None
    elif disturbance == "pause it":
        assert not outcomes["by_category"].refreshed
        shop.conn.execute("SELECT pgtrickle.resume_stream_table('by_category')")
        shop.settle()
    else:
        assert outcomes["by_category"].error is None
        shop.check()


def test_a_writer_that_has_truncated_keeps_only_its_own_readers_waiting(shop: Shop) -> None:
    shop.create("by_category", "by_region")
    shop.settle()
    with shop.connect() as writer:
        writer.execute("TRUNCATE products")
        shop.conn.execute("INSERT INTO orders (product, region, total) VALUES (1, 'r9', 5)")
        outcomes = shop.refresh()
        assert isinstance(outcomes["by_category"].error, TransientError)
        assert outcomes["by_region"].refreshed
        shop.check("by_region")
    shop.settle()


def test_two_engines_from_one_frontier(shop: Shop, hold: Hold) -> None:
    """The second to apply is fenced, and its refresh leaves no trace."""
    shop.create("by_region")
    shop.settle()
    shop.conn.execute("INSERT INTO orders (product, region, total) VALUES (1, 'r1', 5)")
    with shop.connect(autocommit=True) as other_conn:
        other = Shop(shop.dsn, shop.schema, other_conn, type(shop.refresher)(shop.dsn, shop.refresher.spark))
        other.streams, other.ids = shop.streams, shop.ids
        held = hold("after-staging", shop.refresh)
        assert other.refresh()["by_region"].refreshed
        outcome = held.let_go()["by_region"]
        other.refresher.close()
    assert isinstance(outcome.error, TransientError)
    assert not outcome.refreshed
    shop.check()
    assert [row[0] for row in shop.history("by_region")] == [1, 2]
    shop.settle()
