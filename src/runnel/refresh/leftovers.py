"""What attempts leave behind: rows staged by executors, and tables that hold a whole evaluation.

A failed attempt clears up after itself; what a killed one left is swept by the next engine that takes its place.
"""

from __future__ import annotations

import psycopg
from psycopg import sql

from runnel.catalog.connection import Connection
from runnel.refresh.model import Attempt

_TABLES = """
SELECT relname::text, relname LIKE 'staged@_%' ESCAPE '@' FROM pg_catalog.pg_class
WHERE relnamespace = 'pgtrickle_state'::regnamespace AND relkind = 'r' AND relpersistence = 'u'
ORDER BY relname
"""


def clear_attempt(conn: Connection, attempt: Attempt) -> None:
    """Removes what a failed attempt staged; what cannot be removed now is swept later."""
    try:
        if attempt.content is not None:
            conn.execute(f"DROP TABLE IF EXISTS {attempt.content}".encode())
        if attempt.gear == "second":
            staged = f"DELETE FROM {attempt.compiled.target.staged} WHERE starts_with(tag, %s)"
            conn.execute(staged.encode(), [str(attempt.refresh_id)])
    except psycopg.Error:
        return


def sweep(conn: Connection) -> None:
    """Removes what killed attempts left; for an engine that knows to be the only one."""
    for name, is_staging in conn.execute(_TABLES).fetchall():
        relation = sql.Identifier("pgtrickle_state", name)
        statement = sql.SQL("DELETE FROM {}" if is_staging else "DROP TABLE {}").format(relation)
        conn.execute(statement)
