"""Readers of a result are never blocked, and what users made on it survives every kind of refresh."""

from __future__ import annotations

import pytest
from tests.integration.refresh.conftest import Hold, Shop

_READ = "SELECT count(*) FROM by_category"


@pytest.mark.parametrize("full", [False, True], ids=["differential", "full"])
@pytest.mark.parametrize("name", ["by_category", "listed", "distinct_regions"])
def test_a_reader_runs_through_a_refresh(shop: Shop, hold: Hold, name: str, full: bool) -> None:
    """A transaction that has read stays open; others come while the refresh is about to commit."""
    shop.create(name)
    shop.settle()
    query = f"SELECT count(*), md5(string_agg(t::text, ',' ORDER BY t::text)) FROM {name} AS t".encode()
    with shop.connect() as patient, shop.connect(autocommit=True) as late:
        for reader in (patient, late):
            reader.execute("SET lock_timeout = '100ms'")
        patient.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        before = patient.execute(query).fetchone()
        shop.conn.execute("UPDATE orders SET total = total + 1, region = region || '!'")
        held = hold("before-commit", lambda: shop.refresh(full=full))
        assert late.execute(query).fetchone() == before
        assert patient.execute(query).fetchone() == before
        outcome = held.let_go()[name]
        assert outcome.error is None and outcome.refreshed
        assert patient.execute(query).fetchone() == before
        assert late.execute(query).fetchone() != before
    shop.check()


def test_a_reader_runs_through_the_first_fill(shop: Shop, hold: Hold) -> None:
    shop.create("by_category")
    with shop.connect() as reader:
        reader.execute("SET lock_timeout = '100ms'")
        assert reader.execute(_READ.encode()).fetchone() == (0,)
        held = hold("before-commit", shop.refresh)
        assert reader.execute(_READ.encode()).fetchone() == (0,)
        assert held.let_go()["by_category"].error is None
        assert reader.execute(_READ.encode()).fetchone() == (2,)
    shop.check()


def test_grants_and_indexes_survive(shop: Shop) -> None:
    shop.create("by_category", "distinct_regions")
    shop.conn.execute("GRANT SELECT ON by_category, distinct_regions TO PUBLIC")
    shop.conn.execute(
        "CREATE INDEX mine ON by_category (revenue); CREATE INDEX mine_too ON distinct_regions (region)"
    )
    relid = shop.one("SELECT 'by_category'::regclass::oid")
    shop.settle()
    shop.conn.execute("UPDATE products SET category = 'milk' WHERE id = 1")
    shop.settle()
    assert shop.refresh(full=True)["by_category"].mode == "FULL"
    shop.check()
    assert shop.one("SELECT 'by_category'::regclass::oid") == relid
    assert shop.one("SELECT bool_and(has_table_privilege('public', t, 'SELECT')) FROM"
                    " unnest(ARRAY['by_category', 'distinct_regions']) AS t")  # fmt: skip
    assert (
        shop.one("SELECT count(*) FROM pg_index WHERE indexrelid IN ('mine'::regclass, 'mine_too'::regclass)")
        == 2
    )


def test_a_full_refresh_of_what_is_right_writes_nothing(shop: Shop) -> None:
    shop.create("by_region", "listed")
    shop.settle()
    before = shop.one("SELECT array_agg(ctid ORDER BY ctid) FROM by_region")
    outcomes = shop.refresh(full=True)
    assert [outcome.rows_out for outcome in outcomes.values()] == [0, 0]
    assert shop.one("SELECT array_agg(ctid ORDER BY ctid) FROM by_region") == before
