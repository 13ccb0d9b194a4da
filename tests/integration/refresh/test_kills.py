"""kill -9 at every named point of a refresh, then a new engine: equal again, history honest, nothing twice."""

from __future__ import annotations

import pytest
from tests.integration.refresh.conftest import Shop
from tests.oracle.processes import run_engine

# The point, the gear, and the number of the newest refresh after the kill.
_KILLS = (
    ("before-commit", "first", 1),
    pytest.param("after-snapshot", "first", 1, marks=pytest.mark.long),
    pytest.param("after-staging", "second", 1, marks=pytest.mark.long),
    pytest.param("after-commit", "second", 2, marks=pytest.mark.long),
)


@pytest.mark.parametrize(("point", "gear", "number"), _KILLS)
def test_killed(shop: Shop, point: str, gear: str, number: int) -> None:
    shop.create("by_category")
    shop.add("above", "SELECT count(*) AS n, sum(revenue) AS s FROM by_category")
    shop.settle()
    shop.conn.execute("UPDATE orders SET total = total + 1; UPDATE products SET category = 'x' WHERE id = 1")
    run_engine(shop.dsn, shop.ids.values(), {"gear": gear}, kill_at=point)
    assert [row[0] for row in shop.history("by_category")] == list(range(1, number + 1))
    shop.conn.execute("DELETE FROM orders WHERE id = 1")
    shop.settle()
    shop.conn.execute("UPDATE orders SET total = total + 1")
    shop.refresher.options = type(shop.refresher.options)(gear="second")
    shop.settle()
    for name in shop.ids:
        history = shop.history(name)
        assert [row[0] for row in history] == list(range(1, len(history) + 1))
        assert {row[1] for row in history} == {"completed"}


@pytest.mark.long
def test_killed_in_the_middle_of_the_first_fill(shop: Shop) -> None:
    shop.create("by_region", "distinct_regions")
    run_engine(shop.dsn, shop.ids.values(), kill_at="before-commit")
    assert shop.one("SELECT count(*) FROM by_region") == 0
    assert shop.history("by_region") == []
    shop.settle()
    assert [row[:3] for row in shop.history("by_region")] == [(1, "completed", "FULL")]
