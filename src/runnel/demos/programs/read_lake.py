"""Somebody else's client of the lake: DuckDB with its own extensions, and nothing of Runnel.

It reads one line of JSON: files to LOAD, statements that attach the lake, and the views to poll. Each poll is one
transaction that reads the views whole; when it sees a snapshot for the first time it says so, with the time at
which it had read it. A line of JSON with a query that comes meanwhile is answered by its rows, as text.
"""

from __future__ import annotations

import json
import select
import sys
import time
from typing import Any

import duckdb


def main() -> None:
    config = json.loads(sys.stdin.readline())
    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False, "threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    for extension in config["extensions"]:
        connection.load_extension(extension)
    for statement in config["attach"]:
        connection.execute(statement)
    seen = -1
    _say({"ready": True})
    while True:
        snapshot = _poll(connection, config["lake"], config["views"])
        if snapshot > seen:
            _say({"snapshot": snapshot, "at": time.monotonic()})
            seen = snapshot
        # The pause is also where questions come in; the end of the input is the end of the program.
        if select.select([sys.stdin], [], [], config["pause"])[0]:
            line = sys.stdin.readline()
            if not line:
                return
            _say(_answer(connection, json.loads(line)["query"]))


def _poll(connection: duckdb.DuckDBPyConnection, lake: str, views: list[str]) -> int:
    connection.execute("BEGIN")
    for view in views:
        connection.execute(f"SELECT * FROM {lake}.{view}").fetchall()
    row = connection.execute(f"SELECT id FROM ducklake_current_snapshot('{lake}')").fetchone()
    connection.execute("COMMIT")
    return int(row[0]) if row else -1


def _answer(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, Any]:
    try:
        rows = connection.execute(query).fetchall()
    except duckdb.Error as error:
        return {"error": str(error).splitlines()[0]}
    return {"rows": [[None if value is None else str(value) for value in row] for row in rows]}


def _say(message: dict[str, object]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
