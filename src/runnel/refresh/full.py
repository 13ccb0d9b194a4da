"""PostgreSQL's own evaluation of a query at S: FULL for what does not compile, and the judge of verify."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from runnel.catalog import client
from runnel.catalog.client import StreamTable
from runnel.catalog.connection import Connection
from runnel.frontend import expand
from runnel.refresh import plan
from runnel.refresh.apply import enter_settings
from runnel.refresh.model import Attempt


def evaluate(conn: Connection, attempt: Attempt, query: str, exported: str) -> None:
    """The query's rows at the exported snapshot, as the content that the apply puts in place."""
    attempt.content = stage_query(conn, attempt.table, query, exported, attempt.refresh_id.hex)


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


def query_at(
    conn: Connection,
    tables: Mapping[int, StreamTable],
    pgt_id: int,
    moved: Collection[int],
    copies: Mapping[tuple[str, str], str],
) -> str:
    """The query as it has to be read at S.

    S does not see the upstreams that this round has moved: each is replaced by its own query, which at S is what
    it holds now. Every lake table is replaced by its copy.
    """
    table = tables[pgt_id]
    inner = dict(copies)
    for up in plan.upstreams(table):
        if up in moved:
            inner[tables[up].schema or "", tables[up].name or ""] = query_at(conn, tables, up, moved, copies)
    definition = client.view_definition(conn, table.view_relid)
    return expand(definition, inner) if inner else definition
