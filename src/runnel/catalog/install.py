"""Installs the SQL API: everything it needs lives in four schemas that the engine's role owns."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable

import psycopg

from runnel.catalog.connection import Connection, connect
from runnel.errors import SchemaError, UserError

_LOCK = 0x52756E6C  # one installation at a time
_OLDEST = 150000


@dataclass(frozen=True, slots=True)
class InstallReport:
    version: str
    fresh: bool
    engine_role: str
    missing_grants: tuple[str, ...]


def package_version() -> str:
    try:
        return version("runnel")
    except PackageNotFoundError:
        return "0.1.0"


def install(dsn: str, lake_schema: str = "ducklake") -> InstallReport:
    """Install the API, or bring its functions and grants up again where it is installed already."""
    with connect(dsn) as conn, conn.transaction():
        _require_server(conn)
        conn.execute("SET LOCAL search_path = pg_catalog, pg_temp")
        conn.execute("SET LOCAL check_function_bodies = off")
        conn.execute("SELECT pg_catalog.pg_advisory_xact_lock(%s)", [_LOCK])
        fresh = installed_version(conn) is None
        if fresh:
            _create_tables(conn, lake_schema)
        check_version(conn)
        _require_owner(conn)
        for script in _scripts():
            conn.execute(script.read_text().encode())
        role = conn.execute("SELECT session_user::text").fetchone()
        assert role is not None
        return InstallReport(package_version(), fresh, role[0], tuple(_missing_grants(conn)))


def missing_grants(dsn: str) -> list[str]:
    """The GRANTs that the engine's role lacks to follow the tables of this database."""
    with connect(dsn) as conn:
        check_version(conn)
        return _missing_grants(conn)


def installed_version(conn: Connection) -> str | None:
    if conn.execute("SELECT to_regclass('pgtrickle.pgt_version')").fetchone() == (None,):
        return None
    row = conn.execute(
        "SELECT version FROM pgtrickle.pgt_version ORDER BY installed_at DESC LIMIT 1"
    ).fetchone()
    return None if row is None else str(row[0])


def check_version(conn: Connection) -> None:
    """Refuse to work with an API that is absent or of another version than this package."""
    found, wanted = installed_version(conn), package_version()
    if found is None:
        raise SchemaError("the SQL API is not installed in this database", hint="run: runnel init DSN")
    if found != wanted:
        raise SchemaError(
            f"the installed SQL API has version {found}, this command {wanted}",
            hint=f"install runnel {found}, or drop the schemas pgtrickle, pgtrickle_changes, "
            "pgtrickle_state and pgtrickle_views and run: runnel init DSN",
        )


def _create_tables(conn: Connection, lake_schema: str) -> None:
    try:
        conn.execute(_sql().joinpath("schema.sql").read_text().encode())
    except psycopg.errors.InsufficientPrivilege as error:
        raise UserError(
            f"the SQL API cannot be installed: {error.diag.message_primary}",
            hint=f"GRANT CREATE ON DATABASE {conn.info.dbname} TO {conn.info.user};",
        ) from None
    except psycopg.errors.DuplicateSchema as error:
        raise SchemaError(
            f"the SQL API cannot be installed: {error.diag.message_primary}",
            hint="it is left over from another installation: look what is in it, and drop it",
        ) from None
    conn.execute("INSERT INTO pgtrickle.pgt_version (version) VALUES (%s)", [package_version()])
    conn.execute(
        "INSERT INTO pgtrickle.pgt_lakes (lake_name, catalog, metadata_schema, is_own)"
        " VALUES ('lake', NULL, %s, true)",
        [lake_schema],
    )


def _require_server(conn: Connection) -> None:
    if conn.info.server_version < _OLDEST:
        raise UserError(
            f"PostgreSQL {conn.info.server_version // 10000} is too old", hint="use PostgreSQL 15 to 18"
        )


def _require_owner(conn: Connection) -> None:
    row = conn.execute(
        "SELECT nspowner::regrole::text FROM pg_namespace"
        " WHERE nspname = 'pgtrickle' AND nspowner <> current_user::regrole"
    ).fetchone()
    if row is not None:
        raise UserError(f"the SQL API belongs to {row[0]}", hint=f"connect as {row[0]}, the engine's role")


def _missing_grants(conn: Connection) -> list[str]:
    query = _sql().joinpath("queries", "missing_grants.sql").read_text()
    return [str(row[0]) for row in conn.execute(query.encode())]


def _sql() -> Traversable:
    return files("runnel.catalog").joinpath("sql")


def _scripts() -> list[Traversable]:
    """Internal functions, public ones, views, and the grants over all of them."""
    folders = (_sql().joinpath(folder) for folder in ("internal", "functions", "views"))
    found = [script for folder in folders for script in sorted(folder.iterdir(), key=lambda f: f.name)]
    return [*(script for script in found if script.name.endswith(".sql")), _sql().joinpath("grants.sql")]
