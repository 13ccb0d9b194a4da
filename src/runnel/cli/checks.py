"""What `runnel doctor` looks at: this machine first, then the database and what its engine's role may do."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import psycopg

from runnel.catalog import client
from runnel.catalog.connection import Connection, connect
from runnel.catalog.install import check_version, missing_grants
from runnel.cli.place import dsn_of
from runnel.errors import RunnelError
from runnel.scheduler.presence import is_held, who_holds_it
from runnel.servers import find_java

_PACKAGES = ("pyspark", "duckdb", "psycopg", "pyarrow")


@dataclass(frozen=True, slots=True)
class Check:
    mark: Literal["✓", "!", "✗"]
    text: str
    hint: str | None = None


def check_all(dsn: str | None) -> Iterator[Check]:
    yield _guarded(_java)
    yield Check(
        "✓", f"Python {platform.python_version()}, " + ", ".join(_package(name) for name in _PACKAGES)
    )
    try:
        conn = connect(dsn_of(dsn))
    except RunnelError as error:
        yield Check("✗", error.message, error.hint)
        return
    with conn:
        yield _server(conn)
        yield _role(conn)
        installed = _guarded(lambda: _api(conn))
        yield installed
        if installed.mark == "✓":
            yield from _grants(dsn_of(dsn))
            yield from _lakes(conn)
            yield _engine(conn)


def _guarded(check: Callable[[], Check]) -> Check:
    try:
        return check()
    except RunnelError as error:
        return Check("✗", error.message, error.hint)


def _java() -> Check:
    return Check("✓", f"Java: {find_java()}, {os.cpu_count()} cores")


def _package(name: str) -> str:
    return f"{name} {importlib.metadata.version(name)}"


def _server(conn: Connection) -> Check:
    number = conn.info.server_version
    text = f"PostgreSQL {number // 10000}.{number % 10000}, database {conn.info.dbname}"
    return (
        Check("✓", text) if number >= 150000 else Check("✗", f"{text} is too old", "use PostgreSQL 15 to 18")
    )


def _role(conn: Connection) -> Check:
    row = conn.execute("SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user").fetchone()
    if row and row[0]:
        return Check(
            "!",
            f"the role {conn.info.user} is a superuser",
            "the engine needs none: a role that owns its own schemas, with SELECT and TRIGGER on the sources",
        )
    return Check("✓", f"the role {conn.info.user} is no superuser")


def _api(conn: Connection) -> Check:
    check_version(conn)
    row = conn.execute("SELECT pg_catalog.pg_get_userbyid(pgtrickle._engine())::text").fetchone()
    owner = row[0] if row else "?"
    if owner != conn.info.user:
        return Check("!", f"the SQL API belongs to {owner}", f"connect as {owner} to run the engine")
    return Check("✓", "the SQL API is installed, of this command's version")


def _grants(dsn: str) -> Iterator[Check]:
    missing = missing_grants(dsn)
    if not missing:
        yield Check("✓", "no GRANT is missing")
    for grant in missing:
        yield Check("!", "missing to follow all tables of this database", grant)


def _lakes(conn: Connection) -> Iterator[Check]:
    try:
        lakes = client.load_lakes(conn)
    except psycopg.errors.InsufficientPrivilege:
        return  # only the engine's role sees the catalog
    for lake in lakes:
        row = conn.execute(
            "SELECT pg_catalog.to_regclass(%s)", [f'"{lake.metadata_schema}".ducklake_metadata']
        )
        is_there = row.fetchone() != (None,)
        if is_there:
            yield Check("✓", f"lake {lake.name}: its catalog is in the schema {lake.metadata_schema}")
        elif lake.is_own:
            yield Check("!", "no lake for sinks yet", "runnel init --data-path DIR makes it")
        else:
            yield Check("✗", f"lake {lake.name}: its catalog in the schema {lake.metadata_schema} is gone")


def _engine(conn: Connection) -> Check:
    if is_held(conn):
        return Check("✓", f"{who_holds_it(conn)} serves this database")
    return Check("!", "no engine serves this database now", "start it: runnel run")
