"""The stage: an embedded PostgreSQL with a small shop in it, three stream tables, and the lake that they reach."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from runnel.errors import TransientError
from runnel.servers import EmbeddedPostgres

CUSTOMERS, PRODUCTS = 500, 100
LAKE_SCHEMA = "ducklake"
_ROLE = _DATABASE = "shop"
_FILL_SECONDS = 120.0

_STANDING = """
SELECT t.relid::regclass::text, t.is_populated AND t.refresh_number = coalesce(s.published, t.refresh_number),
       coalesce(t.reason, s.last_error)
FROM pgtrickle.pgt_stream_tables AS t LEFT JOIN pgtrickle.pgt_sinks AS s USING (pgt_id) ORDER BY t.pgt_id
"""


@dataclass(frozen=True, slots=True)
class Sink:
    """A view in the lake, and which orders change what it shows."""

    mode: str
    counted: tuple[str, ...]


# What the story creates, in the order of creation.
STREAM_TABLES: dict[str, Sink | None] = {
    "revenue_by_region": Sink("append", ("ordered", "ordered and shipped")),
    "revenue_by_day": Sink("replace", ("shipped", "ordered and shipped")),
    "revenue_by_category": None,
}
SINKS = {name: sink for name, sink in STREAM_TABLES.items() if sink is not None}


@dataclass(frozen=True, slots=True)
class Shop:
    dsn: str = field(repr=False)
    data_path: Path

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.dsn, autocommit=True, options="-c timezone=UTC")

    def open(self) -> int:
        """The tables with what was sold so far; the number of orders."""
        with self.connect() as conn:
            conn.execute(sql_text("shop"))
            row = conn.execute("SELECT count(*) FROM orders").fetchone()
            return int(row[0]) if row else 0

    def create_stream_tables(self) -> None:
        with self.connect() as conn:
            conn.execute(sql_text("stream_tables"))

    def wait_until_settled(self, check: Callable[[], None]) -> None:
        """All refreshed, all published; `check` raises where it will never come to that."""
        until = time.monotonic() + _FILL_SECONDS
        with self.connect() as conn:
            while waiting := [row for row in conn.execute(sql.SQL(_STANDING)) if not row[1]]:
                check()
                if time.monotonic() > until:
                    raise TransientError(f"{waiting[0][0]} does not become fresh", detail=waiting[0][2])
                time.sleep(0.05)

    def refresh_all(self) -> None:
        """Waits until the engine has seen everything that was committed before this call."""
        with self.connect() as conn:
            for name in STREAM_TABLES:
                conn.execute("SELECT pgtrickle.refresh_stream_table(%s)", [name])

    def attach_statements(self) -> list[str]:
        """How any DuckDB attaches the lake, and the database itself to compare with."""
        given = conninfo_to_dict(self.dsn)
        keys = {"HOST": "host", "PORT": "port", "USER": "user", "PASSWORD": "password", "DATABASE": "dbname"}
        parts = ", ".join(f"{key} '{given[name]}'" for key, name in keys.items())
        return [
            f"CREATE SECRET shop (TYPE postgres, {parts})",
            f"ATTACH 'ducklake:postgres:' AS lake (META_SECRET shop, METADATA_SCHEMA '{LAKE_SCHEMA}', READ_ONLY)",
            "ATTACH '' AS pg (TYPE postgres, SECRET shop, READ_ONLY)",
        ]


def found_shop(server: EmbeddedPostgres, data_path: Path) -> Shop:
    """A database of its own, with an owner who is no superuser: nothing in this story needs one."""
    password = secrets.token_urlsafe(18)
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        role = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
        conn.execute(role.format(sql.Identifier(_ROLE), sql.Literal(password)))
        database = sql.SQL("CREATE DATABASE {} OWNER {}")
        conn.execute(database.format(sql.Identifier(_DATABASE), sql.Identifier(_ROLE)))
    return Shop(make_conninfo(server.dsn_of(_DATABASE), user=_ROLE, password=password), data_path)


def sql_text(name: str) -> bytes:
    return files("runnel.demos").joinpath("sql", f"{name}.sql").read_bytes()
