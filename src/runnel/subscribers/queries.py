"""The room's SQL, one file per question."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from psycopg.rows import namedtuple_row

from runnel.catalog.connection import Connection


@cache
def query_text(name: str) -> bytes:
    return files("runnel.subscribers").joinpath("sql", f"{name}.sql").read_bytes()


def run(conn: Connection, query: str, /, **parameters: object) -> list[Any]:
    """The rows that a named query answers with."""
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        cursor.execute(query_text(query), parameters)
        return cursor.fetchall() if cursor.description else []
