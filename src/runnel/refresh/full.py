"""PostgreSQL's own evaluation of a query at S: FULL for what does not compile, and the judge of verify."""

from __future__ import annotations

from collections.abc import Mapping

from runnel.catalog import client
from runnel.catalog.client import StreamTable
from runnel.catalog.connection import Connection
from runnel.frontend import expand
from runnel.refresh import plan
from runnel.refresh.apply import enter_settings
from runnel.refresh.compiled import relation_name
from runnel.refresh.model import Attempt


def evaluate(conn: Connection, attempt: Attempt, exported: str) -> None:
    """The view's rows at the exported snapshot, as the content that the apply puts in place."""
    view = _view_name(conn, attempt.table)
    attempt.content = stage_query(
        conn, attempt.table, f"SELECT * FROM {view}", exported, attempt.refresh_id.hex
    )


def stage_query(conn: Connection, table: StreamTable, query: str, exported: str, unique: str) -> str:
    """A new table with the rows of a query at an exported snapshot; its columns are c1, c2, …"""
    name = f"pgtrickle_state.full_{table.pgt_id}_{unique[-12:]}"
    columns = ", ".join(f"c{i}" for i in range(1, len(table.columns) + 1))
    conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    try:
        conn.execute(f"SET TRANSACTION SNAPSHOT '{exported}'".encode())
        enter_settings(conn, table, small=False)
        conn.execute(f"CREATE UNLOGGED TABLE {name} ({columns}) AS {query}".encode())
        conn.execute("COMMIT")
    finally:
        conn.rollback()
    return name


def whole_query(
    conn: Connection, tables: Mapping[int, StreamTable], pgt_id: int, copies: Mapping[tuple[str, str], str]
) -> str:
    """The query over base relations alone: every upstream replaced by its own query, every lake by its copy."""
    table = tables[pgt_id]
    inner = dict(copies)
    for up in plan.upstreams(table):
        inner[tables[up].schema or "", tables[up].name or ""] = whole_query(conn, tables, up, copies)
    definition = client.view_definition(conn, table.view_relid)
    return expand(definition, inner) if inner else definition


def _view_name(conn: Connection, table: StreamTable) -> str:
    row = conn.execute(
        "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.oid = %s",
        [table.view_relid],
    ).fetchone()
    assert row is not None
    return relation_name(row[0], row[1])
