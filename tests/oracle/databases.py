"""A database with the SQL API for as long as several tests share it: the root fixtures make one for each test."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from runnel.catalog.install import install
from runnel.servers import EmbeddedPostgres


@contextmanager
def shared_database(server: EmbeddedPostgres) -> Iterator[str]:
    """The DSN of a new database as its owner, the engine's role, who is no superuser."""
    name, password = f"shared_{secrets.token_hex(4)}", secrets.token_hex(8)
    _execute(
        server,
        sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), sql.Literal(password)),
    )
    _execute(server, sql.SQL("CREATE DATABASE {0} OWNER {0} TEMPLATE template0").format(sql.Identifier(name)))
    dsn = make_conninfo(server.dsn_of(name), user=name, password=password)
    install(dsn)
    yield dsn
    _execute(server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _execute(server: EmbeddedPostgres, statement: sql.Composed) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(statement)
