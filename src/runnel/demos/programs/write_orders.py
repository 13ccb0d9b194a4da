"""The shop of the demo: an ordinary client of PostgreSQL that knows nothing of stream tables.

It is run as a file of its own: what it writes must not depend on, or wait for, the process that refreshes. It
reads one line of JSON, then writes orders until its input ends or the time is over, and reports in lines of JSON.
Each session has its own orders, so that sessions never wait for each other's rows.
"""

from __future__ import annotations

import json
import random
import select
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import psycopg

_INSERT = """
INSERT INTO orders (customer_id, product_id, quantity, total_usd, status, region)
SELECT %s, id, %s, price_usd * %s, %s, %s FROM products WHERE id = %s
RETURNING id, pg_current_xact_id()::text
"""
_SHIP = "UPDATE orders SET status = 'shipped' WHERE id = %s RETURNING id, pg_current_xact_id()::text"
_CANCEL = "UPDATE orders SET status = 'cancelled' WHERE id = %s RETURNING id, pg_current_xact_id()::text"
_MORE = """
UPDATE orders SET quantity = quantity + 1, total_usd = total_usd / quantity * (quantity + 1) WHERE id = %s
RETURNING id, pg_current_xact_id()::text
"""
_DELETE = "DELETE FROM orders WHERE id = %s RETURNING id, pg_current_xact_id()::text"
# What happens to an earlier order beside each new one, and how often.
_LATER = (
    ("shipped", _SHIP, 0.25),
    ("changed", _MORE, 0.06),
    ("cancelled", _CANCEL, 0.05),
    ("deleted", _DELETE, 0.03),
)
_REGIONS = ("north", "south", "east", "west", None)
_REPORT_SECONDS = 0.2


@dataclass(slots=True)
class Session:
    """One connection and the orders that it placed; `commits` waits to be reported."""

    conn: psycopg.Connection[Any]
    config: dict[str, Any]
    chance: random.Random
    open_orders: list[int] = field(default_factory=list)
    commits: list[tuple[str, str, float]] = field(default_factory=list)

    def write(self, ends: threading.Event, until: float) -> None:
        """One new order every `pause`; behind time it does not rest."""
        pause = self.config["sessions"] / self.config["rate"]
        due = time.monotonic() + self.chance.random() * pause
        while not ends.is_set() and due < until:
            rest = due - time.monotonic()
            if rest > 0 and ends.wait(rest):
                return
            self.place_order("shipped" if self.chance.random() < 0.3 else "pending")
            self._touch_an_earlier_one()
            due += pause

    def place_order(self, status: str) -> None:
        chance, config = self.chance, self.config
        quantity = chance.randint(1, 4)
        customer, product = chance.randint(1, config["customers"]), chance.randint(1, config["products"])
        parameters = [customer, quantity, quantity, status, chance.choice(_REGIONS), product]
        order = self._commit("ordered" if status == "pending" else "ordered and shipped", _INSERT, parameters)
        if order is not None and status == "pending":
            self.open_orders.append(order)

    def _touch_an_earlier_one(self) -> None:
        if not self.open_orders:
            return
        drawn = self.chance.random()
        for what, statement, share in _LATER:
            drawn -= share
            if drawn < 0:
                position = self.chance.randrange(len(self.open_orders))
                order = self.open_orders[position]
                if what != "changed":
                    self.open_orders[position] = self.open_orders[-1]
                    self.open_orders.pop()
                self._commit(what, statement, [order])
                return

    def _commit(self, what: str, statement: str, parameters: list[object]) -> int | None:
        """One transaction; its time is when PostgreSQL said that it is committed."""
        row = self.conn.execute(statement.encode(), parameters, prepare=True).fetchone()
        at = time.monotonic()
        if row is None:
            return None
        self.commits.append((row[1], what, at))
        return int(row[0])


def main() -> None:
    config = json.loads(sys.stdin.readline())
    ends, until = threading.Event(), time.monotonic() + config["seconds"]
    sessions = [_open_session(config, number) for number in range(config["sessions"])]
    threads = [
        threading.Thread(target=_run, args=(session, ends, until), daemon=True) for session in sessions
    ]
    _say({"ready": True})
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if select.select([sys.stdin], [], [], _REPORT_SECONDS)[0]:
            break
        _report(sessions)
    ends.set()
    for thread in threads:
        thread.join()
    # The last order changes every result, so that a snapshot after it contains all that came before.
    sessions[0].place_order("shipped")
    _report(sessions)


def _open_session(config: dict[str, Any], number: int) -> Session:
    conn = psycopg.connect(config["dsn"], autocommit=True, application_name="shop")
    return Session(conn, config, random.Random(config["seed"] + number))


def _run(session: Session, ends: threading.Event, until: float) -> None:
    try:
        session.write(ends, until)
    except psycopg.Error as error:
        _say({"error": str(error).splitlines()[0]})
        ends.set()


def _report(sessions: list[Session]) -> None:
    commits = [commit for session in sessions for commit in _taken(session)]
    if commits:
        _say({"commits": commits})


def _taken(session: Session) -> list[tuple[str, str, float]]:
    taken = session.commits[:]
    del session.commits[: len(taken)]
    return taken


def _say(message: dict[str, object]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
