"""Creates a lake by DuckDB's own extension, so that the catalog's tables are exactly its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import psycopg
from psycopg import conninfo, sql

from runnel.errors import TransientError, UserError
from runnel.lake import duck, objects
from runnel.lake.connection import connect_catalog
from runnel.lake.spec import quote_text

_SECRET_KEYS = {"host": "HOST", "hostaddr": "HOST", "port": "PORT", "user": "USER", "dbname": "DATABASE"}
_LOCK = "SELECT pg_advisory_lock(hashtext('ducklake'), hashtext(%s))"


def create_lake(dsn: str, metadata_schema: str, data_path: str) -> None:
    """Makes a lake, or does nothing where the same one is there already."""
    path = f"{Path(objects.require_local(data_path)).absolute()}/"
    with connect_catalog(dsn, autocommit=True) as conn:
        conn.execute(_LOCK, (metadata_schema,))
        if (existing := _existing_path(conn, metadata_schema)) is None:
            objects.make_directory(path)
            _attach_once(conn, dsn, metadata_schema, path)
        elif existing.rstrip("/") != path.rstrip("/"):
            raise UserError(
                f'the schema "{metadata_schema}" holds a lake with another data path',
                detail=f"it has {existing}, asked was {path}",
                hint="name its own data path, or another schema for a new lake",
            )


def attach_statements(dsn: str, metadata_schema: str, alias: str, *options: str) -> tuple[str, str]:
    """The two statements by which DuckDB attaches a lake; the password lies in the secret only."""
    given = conninfo.conninfo_to_dict(dsn)
    known = {_SECRET_KEYS[key]: str(value) for key, value in given.items() if key in _SECRET_KEYS}
    if given.get("password"):
        known["PASSWORD"] = str(given["password"])
    secret = "".join(f", {key} {quote_text(value)}" for key, value in known.items())
    settings = ", ".join(
        (f"META_SECRET {alias}_secret", f"METADATA_SCHEMA {quote_text(metadata_schema)}", *options)
    )
    return (
        f"CREATE OR REPLACE SECRET {alias}_secret (TYPE postgres{secret})",
        f"ATTACH 'ducklake:postgres:' AS {alias} ({settings})",
    )


def _existing_path(conn: psycopg.Connection[Any], schema: str) -> str | None:
    """The data path of the lake in that schema, None where there is none."""
    table = sql.Identifier(schema, "ducklake_metadata")
    row = conn.execute("SELECT to_regclass(%s)", (table.as_string(conn),)).fetchone()
    if row is None or row[0] is None:
        return None
    query = sql.SQL("SELECT value FROM {} WHERE key = 'data_path' AND scope IS NULL").format(table)
    found = conn.execute(query).fetchone()
    return str(found[0]) if found else None


def _attach_once(conn: psycopg.Connection[Any], dsn: str, schema: str, path: str) -> None:
    connection = duck.connect(("postgres_scanner", "ducklake"))
    try:
        for statement in attach_statements(dsn, schema, "lake", f"DATA_PATH {quote_text(path)}"):
            connection.execute(statement)
    except duckdb.Error as error:
        raise _not_created(conn, schema, error) from None
    finally:
        connection.close()


def _not_created(
    conn: psycopg.Connection[Any], schema: str, error: duckdb.Error
) -> UserError | TransientError:
    """DuckDB's text may hold a connection string, so only PostgreSQL's own reason is passed on."""
    row = conn.execute("SELECT has_database_privilege(current_database(), 'CREATE')").fetchone()
    if row is not None and not row[0]:
        return UserError(
            f'the lake in the schema "{schema}" cannot be created: this role may not create schemas',
            hint="GRANT CREATE ON DATABASE … TO the engine's role, or create the schema for it",
        )
    reason = next((line for line in str(error).splitlines() if "ERROR:" in line), None)
    return TransientError(f'the lake in the schema "{schema}" could not be created', detail=reason)
