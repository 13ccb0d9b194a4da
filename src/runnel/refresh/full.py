"""FULL for what does not compile: PostgreSQL evaluates the hidden view at S into a table of its own."""

from __future__ import annotations

from runnel.catalog.connection import Connection
from runnel.refresh.apply import enter_settings
from runnel.refresh.compiled import relation_name
from runnel.refresh.model import Attempt


def evaluate(conn: Connection, attempt: Attempt, exported: str) -> None:
    """The view's rows at the exported snapshot, staged under the attempt's own name."""
    table = f"pgtrickle_state.full_{attempt.state.pgt_id}_{attempt.refresh_id.hex[-12:]}"
    columns = ", ".join(f"c{i}" for i in range(1, len(attempt.compiled.target.outputs) + 1))
    conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    try:
        conn.execute(f"SET TRANSACTION SNAPSHOT '{exported}'".encode())
        enter_settings(conn, attempt)
        view = conn.execute(
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.oid = %s",
            [attempt.state.view_relid],
        ).fetchone()
        assert view is not None
        source = relation_name(view[0], view[1])
        conn.execute(f"CREATE UNLOGGED TABLE {table} ({columns}) AS SELECT * FROM {source}".encode())
        conn.execute("COMMIT")
    finally:
        conn.rollback()
    attempt.content = table
