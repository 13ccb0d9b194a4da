"""Connections that live as long as a worker process: opening one costs more than a refresh."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb
from adbc_driver_postgresql import dbapi

Settings = tuple[tuple[str, str], ...]

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@dataclass(slots=True)
class Pool:
    """Idle PostgreSQL connections by connection string, and one DuckDB instance."""

    idle: dict[str, list[dbapi.Connection]] = field(default_factory=dict)
    duck: duckdb.DuckDBPyConnection | None = None

    def take(self, dsn: str) -> dbapi.Connection:
        waiting = self.idle.setdefault(dsn, [])
        return waiting.pop() if waiting else dbapi.connect(dsn, autocommit=True)

    def give_back(self, dsn: str, connection: dbapi.Connection) -> None:
        self.idle.setdefault(dsn, []).append(connection)

    def duckdb(self) -> duckdb.DuckDBPyConnection:
        """A cursor of this process's DuckDB: one thread, because Spark's tasks are the parallelism."""
        if self.duck is None:
            self.duck = duckdb.connect(":memory:", config={"threads": 1, "memory_limit": "1GB"})
        return self.duck.cursor()


_pools: dict[int, Pool] = {}


def pool() -> Pool:
    """This process's pool; a forked child never shares its parent's connections."""
    return _pools.setdefault(os.getpid(), Pool())


@dataclass(slots=True)
class Snapshots:
    """The connections of one task: one for each exported snapshot, given back at its end."""

    _open: dict[tuple[str, str], dbapi.Connection] = field(default_factory=dict)
    _settings: dict[tuple[str, str], Settings] = field(default_factory=dict)

    def at(self, dsn: str, snapshot: str, settings: Settings) -> dbapi.Connection:
        """A connection inside that snapshot, with these session settings."""
        place = (dsn, snapshot)
        if place not in self._open:
            self._open[place] = _enter(
                dsn, f"{_BEGIN}; SET TRANSACTION SNAPSHOT '{snapshot}'; {_set(settings)}"
            )
        elif self._settings[place] != settings:
            _run(self._open[place], _set(settings))
        self._settings[place] = settings
        return self._open[place]

    def close(self) -> None:
        for (dsn, _), connection in self._open.items():
            try:
                _run(connection, "COMMIT")
            except dbapi.Error:
                connection.close()
            else:
                pool().give_back(dsn, connection)


@contextmanager
def snapshots() -> Iterator[Snapshots]:
    taken = Snapshots()
    try:
        yield taken
    finally:
        taken.close()


def _enter(dsn: str, script: str) -> dbapi.Connection:
    while True:
        is_new = not pool().idle.get(dsn)
        connection = pool().take(dsn)
        try:
            _run(connection, script)
        except dbapi.Error:
            # an idle connection may have been closed by the server; a new one says what is wrong
            connection.close()
            if is_new:
                raise
        else:
            return connection


def _set(settings: Settings) -> str:
    calls = [
        f"set_config({_literal(name)}, {_literal(value)}, true)"
        for name, value in {**dict(settings), "search_path": "pg_catalog"}.items()
    ]
    return f"SELECT {', '.join(calls)}"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _run(connection: dbapi.Connection, script: str) -> None:
    """Statements in one round trip; whatever they return is dropped."""
    with connection.cursor() as cursor:
        cursor.executescript(script)
