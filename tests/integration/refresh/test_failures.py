"""A refresh that fails: alone, visibly, and no longer than its cause lasts."""

from __future__ import annotations

from tests.integration.refresh.conftest import Shop

from runnel.errors import InternalError, TransientError


def _status(shop: Shop, name: str) -> tuple[str, str | None]:
    row = shop.conn.execute(
        "SELECT status, reason FROM pgtrickle.pgt_stream_tables WHERE pgt_id = %s", [shop.ids[name]]
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def test_a_query_that_raises_fails_alone_until_it_no_longer_does(shop: Shop) -> None:
    shop.create("by_region")
    shop.add("shares", "SELECT id, 100 / product AS share FROM orders")
    shop.settle()
    shop.conn.execute("INSERT INTO orders (product, region, total) VALUES (0, 'zero', 1)")
    for _ in range(2):
        outcomes = shop.refresh()
        error = outcomes["shares"].error
        assert isinstance(error, InternalError) and "division by zero" in str(error)
    shop.check("by_region")
    assert _status(shop, "shares")[0] == "error"
    assert "division by zero" in str(_status(shop, "shares")[1])
    assert [row[1] for row in shop.history("shares")] == ["completed", "failed"]
    shop.conn.execute("DELETE FROM orders WHERE product = 0")
    shop.settle()
    shop.conn.execute("UPDATE orders SET product = 3 - product")
    shop.settle()
    assert _status(shop, "shares") == ("active", None)


def test_a_users_index_that_is_too_narrow_is_no_broken_connection(shop: Shop) -> None:
    shop.add("names", "SELECT id, region FROM orders")
    shop.settle()
    shop.conn.execute("CREATE INDEX mine ON names (region)")
    shop.conn.execute(
        "UPDATE orders SET region = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 120) AS i)"
    )
    error = shop.refresh()["names"].error
    assert isinstance(error, InternalError) and 'index "mine"' in str(error)
    assert _status(shop, "names")[0] == "error"
    shop.conn.execute("DROP INDEX mine")
    shop.settle()


def test_corrupted_state_stops_the_refresh_and_a_full_one_repairs_it(shop: Shop) -> None:
    shop.create("by_region", "by_category")
    shop.settle()
    for name, table in (("by_region", "s"), ("by_category", "m")):
        state = f"pgtrickle_state.{table}_{shop.ids[name]}{'_1' if table == 'm' else ''}"
        shop.conn.execute(f"UPDATE {state} SET n = 0".encode())
    shop.conn.execute("DELETE FROM orders WHERE id > 3")
    for outcome in shop.refresh().values():
        assert isinstance(outcome.error, InternalError), outcome
    for outcome in shop.refresh(full=True).values():
        assert outcome.error is None
    shop.check()
    shop.conn.execute("UPDATE orders SET total = total + 1")
    shop.settle()


def test_a_row_that_is_not_there_cannot_be_deleted(shop: Shop) -> None:
    shop.create("listed")
    shop.settle()
    shop.conn.execute("DELETE FROM listed WHERE id = 5")
    shop.conn.execute("DELETE FROM orders WHERE id = 5")
    assert isinstance(shop.refresh()["listed"].error, InternalError)
    assert shop.refresh(full=True)["listed"].error is None
    shop.check()


def test_a_diamond_waits_for_the_side_that_failed(shop: Shop) -> None:
    shop.add("counts", "SELECT product, count(*) AS n FROM orders GROUP BY product")
    shop.add("shares", "SELECT product, sum(100 / product) AS s FROM orders GROUP BY product")
    shop.add("both", "SELECT c.product, n, s FROM counts c JOIN shares s ON s.product = c.product")
    shop.settle()
    shop.conn.execute("INSERT INTO orders (product, region, total) VALUES (0, 'zero', 1), (1, 'r1', 1)")
    outcomes = shop.refresh()
    assert outcomes["counts"].refreshed and outcomes["shares"].error is not None
    assert not outcomes["both"].refreshed
    shop.conn.execute("DELETE FROM orders WHERE product = 0")
    shop.settle()


def test_an_owner_who_may_no_longer_read_is_suspended(shop: Shop) -> None:
    shop.create("by_region")
    shop.settle()
    role = f"reader_{shop.schema}"
    shop.conn.execute("UPDATE orders SET total = total + 1")
    shop.conn.execute("REVOKE SELECT ON orders FROM CURRENT_USER")
    error = shop.refresh()["by_region"].error
    assert error is not None and not isinstance(error, TransientError), role
    assert _status(shop, "by_region")[0] == "suspended"
    shop.conn.execute("GRANT SELECT ON orders TO CURRENT_USER")
    shop.conn.execute("SELECT pgtrickle.resume_stream_table('by_region')")
    shop.settle()
