"""One engine serves a database; the lock that says so also tells the second one who the first is.

Two would be correct, for every apply is fenced, but each would throw away half of its work.
"""

from __future__ import annotations

from runnel.catalog.connection import Connection

_ENGINE = 0x52756E6D

_HOLDER = """
SELECT l.pid, a.usename::text, coalesce(host(a.client_addr), 'this machine'), a.backend_start
FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.classid = 0 AND l.objid = %s AND l.granted
AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
"""


def take_place(conn: Connection) -> bool:
    """Whether this connection now stands for the database's engine; it does until it is closed."""
    row = conn.execute("SELECT pg_try_advisory_lock(%s)", [_ENGINE]).fetchone()
    return bool(row and row[0])


def who_holds_it(conn: Connection) -> str:
    row = conn.execute(_HOLDER, [_ENGINE]).fetchone()
    if row is None:
        return "an engine"
    pid, user, place, since = row
    started = f", connected since {since:%Y-%m-%d %H:%M:%S %Z}" if since else ""
    return f"an engine (PostgreSQL process {pid}, user {user or '?'}, from {place}{started})"


def is_held(conn: Connection) -> bool:
    return conn.execute(_HOLDER, [_ENGINE]).fetchone() is not None
