"""The hidden tables of a stream table: made before its first fill, in a transaction of their own."""

from __future__ import annotations

from psycopg import sql

from runnel.catalog.connection import Connection
from runnel.delta import Statement, log_setup
from runnel.refresh.model import Compiled


def ensure_setup(conn: Connection, compiled: Compiled, lock_timeout_ms: int) -> None:
    """Makes what is missing; a new query keeps the log, but its state and its result's key are made anew."""
    with conn.transaction():
        conn.execute(f"SET LOCAL lock_timeout = {lock_timeout_ms}".encode())
        conn.execute("SET LOCAL search_path = pg_catalog")
        if not _exists(conn, compiled.target.log):
            _run(conn, log_setup(compiled.target))
        if compiled.program is not None and not _exists(conn, compiled.target.staged):
            setup = compiled.program.setup
            _run(conn, tuple(each for each in setup if each.purpose != "key"))
            # only its owner may index a table
            conn.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(compiled.table.owner)))
            _run(conn, tuple(each for each in setup if each.purpose == "key"))
            conn.execute("RESET ROLE")


def _exists(conn: Connection, name: str) -> bool:
    row = conn.execute("SELECT to_regclass(%s)", [name]).fetchone()
    return bool(row and row[0] is not None)


def _run(conn: Connection, statements: tuple[Statement, ...]) -> None:
    for statement in statements:
        conn.execute(statement.sql.encode())
