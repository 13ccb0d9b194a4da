"""Opens connections so that a failure is one clear message without a secret."""

from __future__ import annotations

from typing import Any, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict

from runnel.errors import TransientError, UserError

Connection: TypeAlias = psycopg.Connection[Any]


def connect(dsn: str, *, autocommit: bool = True) -> Connection:
    try:
        return psycopg.connect(dsn, autocommit=autocommit, application_name="runnel")
    except psycopg.ProgrammingError:
        # the driver's message quotes the text, which may hold a password
        raise UserError(
            "the connection string cannot be read",
            hint="write it like postgresql://user@host:5432/dbname or host=… dbname=… user=…",
        ) from None
    except psycopg.OperationalError as error:
        raise TransientError(
            f"PostgreSQL at {_place(dsn)} cannot be reached",
            detail=_without_password(str(error), dsn),
            hint="check that the server runs, and host, port, dbname, user and password",
        ) from None


def _place(dsn: str) -> str:
    parts = conninfo_to_dict(dsn)
    return f"{parts.get('host') or 'localhost'}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"


def _without_password(text: str, dsn: str) -> str:
    password = conninfo_to_dict(dsn).get("password")
    return text.replace(str(password), "***") if password else text
