"""Finds stream tables by the names that people type, resolved by PostgreSQL itself."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from runnel.catalog.connection import Connection
from runnel.errors import UserError


@dataclass(frozen=True, slots=True)
class Named:
    pgt_id: int
    relid: int
    name: str


_QUERY = """
SELECT s.pgt_id, c.oid, format('%%I.%%I', s.schema, s.name)
FROM pgtrickle.pgt_stream_table_status AS s
JOIN pg_catalog.pg_namespace AS n ON n.nspname = s.schema
JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = s.name
WHERE c.oid = %s
"""


def find(conn: Connection, name: str) -> Named:
    """The stream table of that name, as the connection's search_path has it."""
    try:
        row = conn.execute("SELECT pg_catalog.to_regclass(%s)::oid", [name]).fetchone()
    except (psycopg.errors.InvalidName, psycopg.errors.SyntaxError):
        row = None
    found = find_by_relation(conn, row[0]) if row and row[0] is not None else None
    if found is None:
        raise UserError(f'there is no stream table "{name}"', hint=_others(conn))
    return found


def find_by_relation(conn: Connection, relid: int) -> Named | None:
    row = conn.execute(_QUERY, [relid]).fetchone()
    return None if row is None else Named(*row)


def _others(conn: Connection) -> str:
    rows = conn.execute(
        "SELECT format('%I.%I', schema, name) FROM pgtrickle.pgt_stream_table_status ORDER BY 1 LIMIT 8"
    ).fetchall()
    if not rows:
        return "create one: SELECT pgtrickle.create_stream_table(name, query)"
    return "there are: " + ", ".join(row[0] for row in rows)
