"""Opens a lake's catalog from outside, with one clear message and no password where that fails."""

from __future__ import annotations

from typing import Any

import psycopg

from runnel.errors import UserError


def connect_catalog(dsn: str, *, autocommit: bool = False) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(dsn, autocommit=autocommit, connect_timeout=10)
    except psycopg.ProgrammingError:
        raise UserError(
            "the lake's connection string cannot be read",
            hint="write it as host=… dbname=…, or postgresql://…",
        ) from None
    except psycopg.OperationalError as error:
        raise UserError(
            "the database of the lake's catalog cannot be reached",
            detail=str(error).strip().partition("\n")[0],
            hint="check host, port, database, user and password",
        ) from None
