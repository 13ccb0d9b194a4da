"""The hidden tables of a stream table: made once, before its first fill, in a transaction of their own."""

from __future__ import annotations

from runnel.catalog.connection import Connection
from runnel.delta import log_setup
from runnel.refresh.model import Compiled


def ensure_setup(conn: Connection, compiled: Compiled, lock_timeout_ms: int) -> None:
    with conn.transaction():
        conn.execute(f"SET LOCAL lock_timeout = {lock_timeout_ms}".encode())
        conn.execute("SET LOCAL search_path = pg_catalog")
        row = conn.execute("SELECT to_regclass(%s)", [compiled.target.log]).fetchone()
        if row and row[0] is not None:
            return
        statements = compiled.program.setup if compiled.program else log_setup(compiled.target)
        for statement in statements:
            conn.execute(statement.sql.encode())
