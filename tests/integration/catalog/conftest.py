"""A database with the API, and three roles: the engine's, one that owns the sources, one that means harm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from runnel.servers import EmbeddedPostgres

ORDERS = """
    CREATE TABLE app.orders (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        region text,
        status text NOT NULL DEFAULT 'new',
        total_usd numeric(10, 2)
    )
"""


@dataclass(frozen=True, slots=True)
class World:
    admin: psycopg.Connection[Any]
    engine: psycopg.Connection[Any]
    alice: psycopg.Connection[Any]
    mallory: psycopg.Connection[Any]
    alice_dsn: str
    engine_dsn: str

    def log(self, source: str) -> list[tuple[Any, ...]]:
        """The change log of a source, as weight and columns, sorted."""
        capture = one(
            self.engine, "SELECT capture_id FROM pgtrickle.pgt_captures WHERE relid = %s::regclass", source
        )
        rows = self.engine.execute(f"SELECT * FROM pgtrickle_changes.changes_{capture}")
        return sorted((tuple(row[1:]) for row in rows), key=repr)

    def leftovers(self) -> dict[str, int]:
        """How much there is of what creating makes."""
        queries = {
            "stream tables": "SELECT count(*) FROM pgtrickle.pgt_stream_tables",
            "dependencies": "SELECT count(*) FROM pgtrickle.pgt_dependencies",
            "captures": "SELECT count(*) FROM pgtrickle.pgt_captures",
            "triggers": "SELECT count(*) FROM pg_trigger WHERE tgname ~ 'pgtrickle'",
            "relations": "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'v')"
            " AND relnamespace::regnamespace::text ~ '^pgtrickle_'",
            "functions": "SELECT count(*) FROM pg_proc"
            " WHERE pronamespace = 'pgtrickle_changes'::regnamespace",
        }
        return {what: one(self.engine, query) for what, query in queries.items()}


def one(conn: psycopg.Connection[Any], query: str, *parameters: object) -> Any:
    row = conn.execute(query.encode(), parameters or None).fetchone()
    assert row is not None
    return row[0]


def create(conn: psycopg.Connection[Any], name: str, query: str, **options: object) -> None:
    named = "".join(f", {option} => %s" for option in options)
    conn.execute(
        f"SELECT pgtrickle.create_stream_table(%s, %s{named})".encode(), [name, query, *options.values()]
    )


@pytest.fixture(params=[18, pytest.param(16, marks=pytest.mark.long)])
def server(request: pytest.FixtureRequest) -> EmbeddedPostgres:
    found: EmbeddedPostgres = request.getfixturevalue({18: "pg", 16: "pg16"}[request.param])
    return found


@pytest.fixture
def world(
    server: EmbeddedPostgres,
    runnel_db: str,
    login: Callable[..., str],
    connect: Callable[..., psycopg.Connection[Any]],
) -> World:
    alice_dsn = login(runnel_db, "alice")
    alice = connect(alice_dsn, autocommit=True)
    mallory = connect(login(runnel_db, "mallory"), autocommit=True)
    engine = connect(runnel_db, autocommit=True)
    admin = connect(server.dsn_of(alice.info.dbname), autocommit=True)
    admin.execute(f"CREATE SCHEMA app AUTHORIZATION {alice.info.user}".encode())
    admin.execute(f"CREATE SCHEMA evil AUTHORIZATION {mallory.info.user}".encode())
    alice.execute(ORDERS.encode())
    for role in (alice, mallory):  # to act for them in one thing, not to have their rights
        inherit = " WITH INHERIT FALSE"
        admin.execute(f"GRANT {role.info.user} TO {engine.info.user}{inherit}".encode())
    alice.execute(f"GRANT USAGE ON SCHEMA app TO {engine.info.user}".encode())
    alice.execute(f"GRANT SELECT, TRIGGER ON app.orders TO {engine.info.user}".encode())
    mallory.execute(f"GRANT USAGE ON SCHEMA evil TO {engine.info.user}".encode())
    alice.execute("SET search_path = app, public")
    mallory.execute("SET search_path = evil, public")
    return World(admin, engine, alice, mallory, alice_dsn, runnel_db)
