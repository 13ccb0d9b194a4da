"""The SQL files of this room, with the lake's schema put in as an identifier."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from psycopg import sql


@cache
def query(name: str, schema: str = "public") -> sql.Composed:
    text = files("runnel.playbook.ducklake").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
    return sql.SQL(text).format(schema=sql.Identifier(schema))
