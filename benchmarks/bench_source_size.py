"""The same refresh of the same 1,000 changed rows over a small source and over one five times as large."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial

from setting import REVENUE_BY_DAY, Clock, Setting, Shop, claim, must_succeed, print_phases, setting


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument(
        "--orders", type=int, default=5_000_000, help="the larger source; the smaller has a fifth"
    )
    parser.add_argument("--changes", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    with setting() as place:
        shops = (
            Shop(place.conn, "small", options.orders // 5),
            Shop(place.conn, "large", options.orders),
        )
        measure(place, shops, options.changes, options.rounds)


def measure(place: Setting, shops: tuple[Shop, Shop], changes: int, rounds: int) -> None:
    ids = {}
    for shop in shops:
        shop.load()
        ids[shop.schema] = place.create(
            f"{shop.schema}.revenue_by_day", REVENUE_BY_DAY.format(schema=shop.schema)
        )
    clock = Clock()
    phases: dict[str, list[dict[str, float]]] = {shop.schema: [] for shop in shops}
    for number in range(-10, rounds):
        if number == 0:
            clock.forget()
        for shop in shops if number % 2 else shops[::-1]:
            shop.change(changes)
            pgt_id = ids[shop.schema]
            found = must_succeed(clock.time(shop.schema, partial(place.refresh, [pgt_id])))
            phases[shop.schema] += [outcome.phases for outcome in found]
    clock.print()
    for shop in shops:
        print(f"{shop.schema}, {shop.orders:,} orders: ", end="")
        print_phases(phases[shop.schema])
    print()
    small, large = shops
    ratio = clock.median(large.schema) / clock.median(small.schema)
    claim(f"refresh over {large.orders:,} rows / over {small.orders:,}", ratio, at_most=1.3)


if __name__ == "__main__":
    main()
