"""From what a step says of its catalog database to a connection to it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.conninfo import make_conninfo

from runnel.errors import UserError

_ENVIRONMENT = re.compile(r"\$\{(\w+)\}")
_DRIVER = re.compile(r"^(postgres(?:ql)?)\+\w+://")
_KEYS = {
    "host": ("db_host", "host"),
    "port": ("db_port", "port"),
    "user": ("db_user", "user", "username"),
    "password": ("db_password", "password"),
    "dbname": ("db_name", "database", "dbname"),
}


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where a playbook's credentials are looked up: its own keychain first, then the environment."""

    keychain: Sequence[Mapping[str, Any]] = ()

    def connection(self, catalog_connection: str | None, auth: Any) -> str:
        """The connection that a step names; `catalog_connection` goes before `auth`."""
        if catalog_connection:
            return connection_text(catalog_connection)
        if auth is None:
            raise UserError(
                "no catalog database is named",
                hint="give the step auth or catalog_connection, or run with --dsn or --embedded",
            )
        return self._resolve(auth)

    def _resolve(self, auth: Any) -> str:
        match auth:
            case str() if "://" in auth or "=" in auth:
                return connection_text(auth)
            case str():
                return self._named(auth)
            case {"source": "inline", **rest}:
                return _from_mapping(_entry(rest))
            case {"source": "env", **rest}:
                return _from_text(_environment_variable(_name_of(_entry(rest))))
            case {"source": "credential" | "secret", **rest}:
                return self._named(_name_of(_entry(rest)))
            case {"source": source}:
                raise UserError(
                    f"credential source {source!r} is not known",
                    hint="there are inline, credential, secret and env",
                )
            case Mapping():
                return _from_mapping(auth)
            case _:
                raise UserError("auth is neither a credential's name nor a credential")

    def _named(self, name: str) -> str:
        for entry in self.keychain:
            if entry.get("name") == name:
                return self._resolve(
                    {key: value for key, value in entry.items() if key not in ("name", "type")}
                )
        variable = "NOETL_SECRET_" + re.sub(r"\W", "_", name).upper()
        if variable not in os.environ:
            raise UserError(
                f'credential "{name}" is missing',
                detail=f"looked in the playbook's keychain and in the environment variable {variable}",
                hint="set it to postgresql://… or a credential in JSON, or run with --dsn or --embedded",
            )
        return _from_text(os.environ[variable], variable)


def connection_text(text: str) -> str:
    """A connection as libpq reads it: ${NAME} filled in, a driver's name (+psycopg) taken off."""
    return _DRIVER.sub(r"\1://", expand(text).strip())


def expand(text: str) -> str:
    """The text with each ${NAME} replaced by the environment's value."""
    return _ENVIRONMENT.sub(lambda match: _environment_variable(match.group(1)), text)


def _environment_variable(name: str) -> str:
    if name not in os.environ:
        raise UserError(
            f"environment variable {name} is not set", hint=f"export {name}=… before running the playbook"
        )
    return os.environ[name]


def _entry(rest: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in rest.items()}


def _name_of(entry: Mapping[str, Any]) -> str:
    for key in ("key", "credential", "name"):
        if entry.get(key):
            return str(entry[key])
    raise UserError("the credential has no name", hint="write key: NAME beside source")


def _from_text(text: str, where: str = "the credential") -> str:
    """What an environment variable holds: a connection, or a credential as JSON."""
    if not text.lstrip().startswith("{"):
        return connection_text(text)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{where} is not JSON", detail=f"{error.msg} at character {error.pos + 1}") from None
    return _from_mapping(value)


def _from_mapping(credential: Mapping[str, Any]) -> str:
    kind = credential.get("type", "postgres")
    if kind not in ("postgres", "postgresql"):
        raise UserError(
            f"a credential of type {kind!r} cannot reach a lake's catalog", hint="use type: postgres"
        )
    data = credential.get("data", credential)
    for key in ("dsn", "connection_string", "connection"):
        if data.get(key):
            return connection_text(str(data[key]))
    parts = {part: _first(data, names) for part, names in _KEYS.items()}
    if not any(parts.values()):
        raise UserError(
            "the credential names no database",
            hint="its data has db_host, db_port, db_user, db_password, db_name",
        )
    if data.get("sslmode"):
        parts["sslmode"] = str(data["sslmode"])
    return make_conninfo("", **{part: value for part, value in parts.items() if value is not None})


def _first(data: Mapping[str, Any], names: Sequence[str]) -> str | None:
    found = next((data[name] for name in names if data.get(name) is not None), None)
    return None if found is None else expand(str(found))
