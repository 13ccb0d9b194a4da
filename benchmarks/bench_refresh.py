"""One warm refresh of 1,000 changed rows, against an empty Spark job and against REFRESH MATERIALIZED VIEW.

The query is the shop's revenue by day: a join of two tables, a sum, a count and a COUNT(DISTINCT) by day and
category. The changed orders lie anywhere in the year, so that a refresh touches hundreds of groups.
"""

from __future__ import annotations

from argparse import ArgumentParser

from setting import (
    REVENUE_BY_DAY,
    Clock,
    Setting,
    Shop,
    claim,
    empty_job,
    must_succeed,
    print_phases,
    setting,
)

from runnel.refresh.model import Outcome

_EMPTY, _REFRESH, _VIEW = "empty Spark job", "refresh", "REFRESH MATERIALIZED VIEW"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=5_000_000)
    parser.add_argument("--changes", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    with setting() as place:
        measure(place, Shop(place.conn, "shop", options.orders), options.changes, options.rounds)


def measure(place: Setting, shop: Shop, changes: int, rounds: int) -> None:
    shop.load()
    query = REVENUE_BY_DAY.format(schema="shop")
    pgt_id = place.create("shop.revenue_by_day", query)
    place.conn.execute(f"CREATE MATERIALIZED VIEW shop.revenue_view AS {query}".encode())
    clock = Clock()
    outcomes: list[Outcome] = []
    for number in range(-10, rounds):
        if number == 0:  # everything before was for the JVM, the caches and the plans
            clock.forget()
            outcomes.clear()
        clock.time(_EMPTY, lambda: empty_job(place.spark))
        shop.change(changes)
        outcomes += must_succeed(clock.time(_REFRESH, lambda: place.refresh([pgt_id])))
        if number % 6 == 0:
            clock.time(_VIEW, lambda: place.conn.execute("REFRESH MATERIALIZED VIEW shop.revenue_view"))
    clock.print()
    print_phases([outcome.phases for outcome in outcomes])
    last = outcomes[-1]
    print(
        f"the last one: {last.gear} gear, {last.rows_in} rows in, {last.rows_out} rows of the result changed\n"
    )
    claim("refresh / empty Spark job", clock.median(_REFRESH) / clock.median(_EMPTY), at_most=2)
    claim("REFRESH MATERIALIZED VIEW / refresh", clock.median(_VIEW) / clock.median(_REFRESH), at_least=10)


if __name__ == "__main__":
    main()
