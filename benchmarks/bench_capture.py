"""What capture costs those who write: the same statements on a table with and without it, in turns."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Callable

from setting import Clock, Setting, claim, setting

_KINDS = ("insert", "update", "delete", "single rows")
_TABLE = """
CREATE TABLE {name} (
    id bigint PRIMARY KEY, customer_id integer NOT NULL, product_id integer NOT NULL,
    quantity integer NOT NULL DEFAULT 1, total_usd numeric(10,2) NOT NULL, status text NOT NULL DEFAULT 'pending',
    ordered_at timestamptz NOT NULL, region text)
"""
_BATCH = """
CREATE TABLE batch AS SELECT i AS id, (i % 50000)::integer AS customer_id, (i % 1000)::integer AS product_id,
    (1 + i % 5)::integer AS quantity, (5 + i % 200)::numeric(10,2) AS total_usd, 'shipped' AS status,
    timestamptz '2026-01-01 00:00+00' + i * interval '1 s' AS ordered_at, 'north' AS region
FROM generate_series(1::bigint, {rows}) AS i
"""


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--singles", type=int, default=500, help="rows written one by one, a commit each")
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    with setting() as place:
        measure(place, options.rows, options.singles, options.rounds)


def measure(place: Setting, rows: int, singles: int, rounds: int) -> None:
    conn = place.conn
    conn.execute(_BATCH.format(rows=rows).encode())
    for name in ("plain", "captured"):
        conn.execute(_TABLE.format(name=name).encode())
    # The capture is there from now on; nobody refreshes, so Spark is not needed.
    query = "SELECT region, count(*) AS n FROM captured GROUP BY region"
    conn.execute("SELECT pgtrickle.create_stream_table('followed', %s)", [query])
    log = f"pgtrickle_changes.changes_{place.one('SELECT capture_id FROM pgtrickle.pgt_captures')}"
    clock = Clock()
    for number in range(-2, rounds):
        if number == 0:
            clock.forget()
        for name in ("plain", "captured") if number % 2 else ("captured", "plain"):
            _write(place, clock, name, log, rows, singles)
    clock.print()
    print()
    for kind in _KINDS:
        ratio = clock.median(f"{kind}, captured") / clock.median(f"{kind}, plain")
        text = f"{kind} with capture / without"
        if kind == "insert":
            claim(f"bulk {text}", ratio, at_most=1.8)
        else:
            print(f"{text:64} {ratio:8.2f}")


def _write(place: Setting, clock: Clock, name: str, log: str, rows: int, singles: int) -> None:
    """All four kinds on an empty table, each statement begun on written-out buffers."""
    place.conn.execute(f"TRUNCATE {name}".encode())
    place.conn.execute(f"TRUNCATE {log}".encode())
    run = _runner(place, clock, name)
    run("insert", f"INSERT INTO {name} SELECT * FROM batch")
    run("update", f"UPDATE {name} SET total_usd = total_usd + 1 WHERE id <= {rows // 2}")
    run("delete", f"DELETE FROM {name} WHERE id <= {rows // 2}")
    place.conn.execute("CHECKPOINT")
    insert = f"INSERT INTO {name} SELECT * FROM batch WHERE id = %s".encode()
    place.conn.execute("CREATE INDEX IF NOT EXISTS batch_id ON batch (id)")
    clock.time(
        f"single rows, {name}",
        lambda: [place.conn.execute(insert, [i]) for i in range(1, min(singles, rows // 2) + 1)],
    )


def _runner(place: Setting, clock: Clock, name: str) -> Callable[[str, str], None]:
    def run(kind: str, statement: str) -> None:
        place.conn.execute("CHECKPOINT")
        time.sleep(0.05)
        clock.time(f"{kind}, {name}", lambda: place.conn.execute(statement.encode()))

    return run


if __name__ == "__main__":
    main()
