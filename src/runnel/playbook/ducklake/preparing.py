"""Getting a lake ready, once, before anybody works on it."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import duckdb
import psycopg
from psycopg.conninfo import conninfo_to_dict

from runnel.errors import RunnelError, TransientError, UserError
from runnel.playbook.ducklake import pool
from runnel.playbook.ducklake.lake import Lake
from runnel.playbook.ducklake.queries import query
from runnel.playbook.secrets import hide

_CONNECT_SECONDS = 5
# Several first attaches of one catalog at once fail: the schema's name is the lock's.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('runnel playbook lake ' || %s, 0))"


def prepare(lake: Lake) -> Lake:
    """Attach the lake in this process, made if it may be; the schema where it lies is then known."""
    with _connect(lake) as connection, connection.transaction():
        connection.execute(_LOCK, (lake.catalog_name,))
        found = _existing_schema(connection, lake)
        if found is None and not lake.create:
            raise UserError(
                f'lake "{lake.catalog_name}" does not exist',
                detail=f"no DuckLake catalog in {_place(lake)}",
                hint="leave out create_catalog: false, or check catalog_name and the connection",
            )
        lake = replace(lake, metadata_schema=found or lake.schema)
        if "://" not in lake.data_path:
            _check_writable(lake.data_path)
        _attach(lake)
    return replace(lake, create=False)


def _connect(lake: Lake) -> psycopg.Connection[tuple[str]]:
    try:
        return psycopg.connect(lake.conninfo, connect_timeout=_CONNECT_SECONDS)
    except psycopg.ProgrammingError as error:
        raise UserError(
            f'the connection of lake "{lake.catalog_name}" cannot be read',
            detail=hide(str(error), lake.conninfo),
            hint="write postgresql://user:password@host:port/database or host=… dbname=…",
        ) from None
    except psycopg.OperationalError as error:
        raise TransientError(
            f'the catalog database of lake "{lake.catalog_name}" is unreachable at {_place(lake)}',
            detail=hide(str(error), lake.conninfo),
            hint="check that the server runs, that the database exists, and the user and password",
        ) from None


def _existing_schema(connection: psycopg.Connection[tuple[str]], lake: Lake) -> str | None:
    candidates = [lake.schema] if lake.metadata_schema else [lake.schema, "public"]
    row = connection.execute(query("lake_schema"), {"candidates": candidates}).fetchone()
    return row[0] if row else None


def _check_writable(data_path: str) -> None:
    try:
        Path(data_path).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data_path):
            pass
    except OSError as error:
        raise UserError(
            f'data path "{data_path}" cannot be written',
            detail=os.strerror(error.errno) if error.errno else str(error),
            hint="make the directory writable for this user, or name another with --data-path",
        ) from None


def _attach(lake: Lake) -> None:
    try:
        pool.instance(lake)
    except duckdb.Error as error:
        text = hide(str(error), lake.conninfo)
        hint = None
        if "DATA_PATH parameter" in text:
            hint = "name the data path that the lake was made with, or give this lake another catalog_name"
        raise UserError(
            f'lake "{lake.catalog_name}" cannot be attached', detail=text.splitlines()[0], hint=hint
        ) from None


def _place(lake: Lake) -> str:
    try:
        parts = conninfo_to_dict(lake.conninfo)
    except psycopg.ProgrammingError as error:  # pragma: no cover - refused by _connect before
        raise RunnelError("the connection cannot be read") from error
    host = parts.get("host") or parts.get("hostaddr") or "the local socket"
    return f'{host}:{parts.get("port") or 5432}, database "{parts.get("dbname") or parts.get("user") or ""}"'
