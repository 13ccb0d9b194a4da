"""Twenty stream tables refreshed together against one, and the same twenty beside one that fails."""

from __future__ import annotations

from argparse import ArgumentParser

from setting import Clock, Setting, Shop, claim, must_succeed, print_phases, setting

_ONE, _TWENTY, _BESIDE = "one", "twenty", "twenty beside one that fails"
_MEASURES = (
    "SUM(total_usd) AS a",
    "AVG(total_usd) AS a",
    "COUNT(*) AS a",
    "MAX(ordered_at) AS a",
    "SUM(quantity) AS a",
)
_KEYS = ("region", "status", "product_id", "(ordered_at AT TIME ZONE 'UTC')::date")
# An order of no quantity divides by zero; every round has one for a while.
_FAILING = "SELECT region, SUM(100 / quantity) AS a FROM shop.orders GROUP BY region"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with setting() as place:
        measure(place, Shop(place.conn, "shop", options.orders), options.changes, options.rounds)


def measure(place: Setting, shop: Shop, changes: int, rounds: int) -> None:
    shop.load()
    place.conn.execute("INSERT INTO shop.orders VALUES (0, 1, 1, 1, 10, 'shipped', '2026-01-01', 'north')")
    alone, *twenty = [place.create(f"shop.st_{n}", query) for n, query in enumerate([_query(0), *_queries()])]
    failing = place.create("shop.failing", _FAILING)
    clock, phases = Clock(), []
    for number in range(-5, rounds):
        if number == 0:
            clock.forget()
        shop.change(changes)
        must_succeed(clock.time(_ONE, lambda: place.refresh([alone])))
        phases += [o.phases for o in must_succeed(clock.time(_TWENTY, lambda: place.refresh(twenty)))]
        shop.change(changes)
        must_succeed(place.refresh([alone]))
        _set_quantity(place, 0)
        outcomes = clock.time(_BESIDE, lambda: place.refresh([*twenty, failing]))
        must_succeed([outcome for outcome in outcomes if outcome.pgt_id != failing])
        if [outcome.pgt_id for outcome in outcomes if outcome.error] != [failing]:
            raise SystemExit("the one that should fail did not")
        _set_quantity(place, 1)
        place.refresh([failing])  # what it missed, so that it fails over as many rows as the others
    clock.print()
    print_phases(phases)
    print()
    claim("twenty refreshed together / one", clock.median(_TWENTY) / clock.median(_ONE), at_most=3.5)
    claim("twenty beside one that fails / twenty", clock.median(_BESIDE) / clock.median(_TWENTY), at_most=1.3)


def _set_quantity(place: Setting, quantity: int) -> None:
    """Of an order that no change touches."""
    place.conn.execute("UPDATE shop.orders SET quantity = %s WHERE id = 0", [quantity])


def _queries() -> list[str]:
    return [_query(number) for number in range(20)]


def _query(number: int) -> str:
    key, measure = _KEYS[number % 4], _MEASURES[number % 5]
    return (
        f"SELECT {key} AS k, {measure}, COUNT(*) AS n FROM shop.orders WHERE status <> 'cancelled' GROUP BY 1"
    )


if __name__ == "__main__":
    main()
