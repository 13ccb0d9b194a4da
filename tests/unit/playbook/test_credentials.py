"""Where the connection of a catalog comes from, and that its password goes nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from runnel.errors import UserError
from runnel.playbook.credentials import Credentials
from runnel.playbook.secrets import hide

DATA = {"db_host": "h", "db_port": "5433", "db_user": "u", "db_password": "p w", "db_name": "d"}
PARTS = {"host": "h", "port": "5433", "user": "u", "password": "p w", "dbname": "d"}


@pytest.mark.parametrize(
    "auth",
    [
        {"name": "c", "type": "postgres", "tags": ["x"], "data": DATA},
        DATA,
        {"host": "h", "port": 5433, "user": "u", "password": "p w", "database": "d"},
        {"source": "inline", "data": DATA},
        "host=h port=5433 user=u password='p w' dbname=d",
        "postgresql+psycopg://u:p%20w@h:5433/d",
        {"source": "env", "key": "MY_DSN"},
        {"source": "secret", "name": "pg-catalog"},
        "pg-catalog",
        "in_keychain",
        {"db_host": "${MY_HOST}", "db_port": 5433, "db_user": "u", "db_password": "${MY_PW}", "db_name": "d"},
    ],
)
def test_every_form_of_a_credential(auth: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_DSN", "postgres+asyncpg://u:p%20w@h:5433/d")
    monkeypatch.setenv("NOETL_SECRET_PG_CATALOG", json.dumps({"type": "postgres", "data": DATA}))
    monkeypatch.setenv("MY_HOST", "h")
    monkeypatch.setenv("MY_PW", "p w")
    credentials = Credentials([{"name": "in_keychain", "type": "postgres", "data": DATA}])
    assert conninfo_to_dict(credentials.connection(None, auth)) == PARTS


def test_the_connection_goes_before_auth() -> None:
    assert Credentials().connection("postgresql://h/d", "missing") == "postgresql://h/d"


@pytest.mark.parametrize(
    ("connection", "auth", "message", "detail"),
    [
        (None, "pg_catalog", 'credential "pg_catalog" is missing', "NOETL_SECRET_PG_CATALOG"),
        (None, None, "no catalog database is named", ""),
        ("host=${NOT_THERE}", None, "environment variable NOT_THERE is not set", ""),
        (None, {"source": "vault", "key": "x"}, "'vault' is not known", ""),
        (None, {"source": "env"}, "has no name", ""),
        (None, {"type": "snowflake", "data": {}}, "'snowflake' cannot reach", ""),
        (None, {"data": {"x": 1}}, "names no database", ""),
    ],
)
def test_what_is_missing_is_named(connection: str | None, auth: Any, message: str, detail: str) -> None:
    with pytest.raises(UserError) as caught:
        Credentials().connection(connection, auth)
    assert message in caught.value.message
    assert detail in (caught.value.detail or "")


@pytest.mark.parametrize(
    "text",
    [
        "connection to postgresql://u:hunter2@h/d failed",
        "host=h password=hunter2 dbname=d",
        "host=h password='hunter2' dbname=d",
        'db_password: "hunter2"',
        '{"db_password": "hunter2"}',
        "the word hunter2 alone",
    ],
)
def test_a_password_is_hidden_in_any_form(text: str) -> None:
    assert "hunter2" not in hide(text, "host=h password=hunter2")
