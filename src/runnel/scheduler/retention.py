"""Deletes log rows that every reader has passed and old history, in batches too small to be in anyone's way."""

from __future__ import annotations

from importlib.resources import files

import psycopg
from psycopg import sql

from runnel.catalog.connection import Connection

_BATCH = 5_000
_KEPT_REFRESHES = 10_000

_DELETE = """
DELETE FROM {log} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM {log} WHERE {position} {compare} %s::{type} ORDER BY {position} LIMIT %s))
"""
# A sink still reads the history of what it has not published; a gone stream table's is kept for a day.
_HISTORY = """
DELETE FROM pgtrickle.pgt_refresh_history WHERE refresh_id = ANY (ARRAY(
    SELECT h.refresh_id FROM pgtrickle.pgt_refresh_history AS h
    LEFT JOIN pgtrickle.pgt_stream_tables AS t USING (pgt_id)
    LEFT JOIN pgtrickle.pgt_sinks AS s USING (pgt_id)
    WHERE h.ended_at < clock_timestamp() - interval '1 day' AND (
        t.pgt_id IS NULL
        OR h.refresh_number <= least(t.refresh_number - %(kept)s, s.published)
        OR h.refresh_number IS NULL AND h.ended_at < clock_timestamp() - interval '30 days')
    LIMIT %(batch)s))
"""


def trim_logs(conn: Connection, batch: int = _BATCH) -> int:
    """One batch of each log; the number of rows that went. Call it again while that is many."""
    conn.execute("SET statement_timeout = '2s'")
    pins = conn.execute(files("runnel.scheduler").joinpath("sql", "log_pins.sql").read_bytes())
    return sum(_trim(conn, log, kind, pin, batch) for log, kind, pin in pins.fetchall() if pin is not None)


def trim_history(conn: Connection, kept: int = _KEPT_REFRESHES, batch: int = _BATCH) -> int:
    return conn.execute(_HISTORY, {"kept": kept, "batch": batch}).rowcount


def _trim(conn: Connection, log: str, position: str, pin: str, batch: int) -> int:
    delete = sql.SQL(_DELETE).format(
        log=sql.Identifier("pgtrickle_changes", log),
        position=sql.Identifier(position),
        compare=sql.SQL("<" if position == "xid" else "<="),
        type=sql.SQL("xid8" if position == "xid" else "bigint"),
    )
    try:
        return conn.execute(delete, [pin, batch]).rowcount
    except (psycopg.errors.UndefinedTable, psycopg.errors.QueryCanceled):
        return 0  # dropped meanwhile, or slower than it may be: the next time will do
