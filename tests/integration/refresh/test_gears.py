"""Two gears: who combines, what reaches the driver, and when a refresh goes from one to the other."""

from __future__ import annotations

import pytest
from tests.integration.refresh.conftest import Shop
from tests.oracle.processes import run_engine

from runnel.refresh.model import Options

_CLUSTER = "local-cluster[2,1,1024]"


@pytest.mark.long
def test_a_cluster_combines_in_its_own_processes(shop: Shop) -> None:
    """The driver gets a stage's delta (first gear) or attempt tags (second), and never a row of a source."""
    shop.create("by_region", "by_category", "listed")
    shop.settle()
    change = (
        f"INSERT INTO {shop.schema}.orders (product, region, total) SELECT 1, 'r1', i FROM generate_series(1, 5) i;"
        f" UPDATE {shop.schema}.products SET category = category || '!' WHERE id = 1"
    )
    rounds = ({"gear": gear, "sql": change} for gear in ("first", "second"))
    found = run_engine(shop.dsn, shop.ids.values(), *rounds, master=_CLUSTER)
    assert found is not None
    answers = [("number", "outcome", "message", "worker", "rows_in", "rows"), ("tag", "rows", "worker")]
    for gear, each, columns in zip(("first", "second"), found["rounds"], answers, strict=True):
        assert {tuple(outcome) for outcome in each["outcomes"]} == {(True, "DIFFERENTIAL", gear, "")}
        processes = {int(worker.partition(":")[2]) for worker in each["workers"]}
        assert processes and found["driver"] not in processes
        assert {tuple(table["columns"]) for table in each["arrived"]} == {columns}
    shop.check()


def test_both_gears_give_the_same_rows(shop: Shop) -> None:
    shop.create("by_region", "by_category", "listed")
    shop.settle()
    for gear in ("first", "second", "first"):
        shop.refresher.options = Options(gear=gear)  # type: ignore[arg-type]
        shop.conn.execute("UPDATE orders SET total = total * 2, product = 3 - product WHERE id % 2 = 0")
        shop.conn.execute(
            "INSERT INTO orders (product, region, total) VALUES (2, NULL, NULL), (9, 'none', 1)"
        )
        shop.settle()
        assert {row[3] for name in shop.ids for row in shop.history(name)[-1:]} == {gear}


def test_a_lookup_that_matches_too_many_rows_goes_on_in_second_gear(shop: Shop) -> None:
    """One changed product with 100,000 orders: the same refresh, one row of history."""
    shop.conn.execute(
        "INSERT INTO orders (product, region, total) SELECT 1 + (i % 10) / 9, 'r' || i % 50, i % 1000"
        " FROM generate_series(1, 111000) AS i"
    )
    shop.create("by_category")
    shop.settle()
    shop.conn.execute("UPDATE products SET category = 'cocoa' WHERE id = 1")
    outcome = shop.refresh()["by_category"]
    assert outcome.error is None
    assert (outcome.mode, outcome.gear) == ("DIFFERENTIAL", "second")
    shop.check()
    assert [row[0] for row in shop.history("by_category")] == [1, 2]
    assert shop.one(f"SELECT count(*) FROM pgtrickle_state.staged_{shop.ids['by_category']}") == 0


def test_a_large_delta_starts_in_second_gear(shop: Shop) -> None:
    shop.create("by_region", "listed")
    shop.settle()
    shop.refresher.options = Options(first_gear_rows=100)
    shop.conn.execute(
        "INSERT INTO orders (product, region, total) SELECT 1, 'r1', 3 FROM generate_series(1, 101) AS i"
    )
    outcomes = shop.refresh()
    assert {(outcome.mode, outcome.gear) for outcome in outcomes.values()} == {("DIFFERENTIAL", "second")}
    shop.check()


def test_a_small_fill_needs_no_second_gear(shop: Shop) -> None:
    shop.create("by_category")
    assert shop.refresh()["by_category"].gear == "first"
    shop.check()
