"""One DuckDB instance per process and lake, kept for its life, and a fresh cursor for each piece of work.

Loading the extensions and attaching costs a quarter of a second, a cursor on what is attached two
milliseconds: a Spark worker that lives on pays the first once.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, LiteralString, TypeVar

import duckdb
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import Composed

from runnel.playbook.ducklake.lake import Lake

T = TypeVar("T")

# The parts of a connection that DuckDB's secret takes; every other option goes into ATTACH, where it shows.
_SECRET_PARTS = {"host": "HOST", "port": "PORT", "dbname": "DATABASE", "user": "USER", "password": "PASSWORD"}
# Not for ATTACH: secrets that the type of secret has no place for, and what another kind of client wants.
_NOT_SHOWN = frozenset({"passfile", "sslpassword", "sslkey", "requirepassword", "connect_timeout"})
AUTHOR = "runnel/playbook"
_EXTENSIONS = ("ducklake", "postgres_scanner")


@dataclass(slots=True)
class Instance:
    """A lake attached in this process: DuckDB for the commands, PostgreSQL for the ledger and the catalog."""

    lake: Lake
    duck: duckdb.DuckDBPyConnection
    _postgres: psycopg.Connection[tuple[Any, ...]] | None = None

    def ask(self, statement: LiteralString | Composed, arguments: Any = None) -> list[tuple[Any, ...]]:
        """The rows of a query; asked once more where the server had closed the connection meanwhile."""
        try:
            return self._connection().execute(statement, arguments).fetchall()
        except psycopg.OperationalError:
            self.close_postgres()
            return self._connection().execute(statement, arguments).fetchall()

    def _connection(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._postgres is None or self._postgres.closed or self._postgres.broken:
            self._postgres = psycopg.connect(self.lake.conninfo, autocommit=True, connect_timeout=5)
        return self._postgres

    def close(self) -> None:
        self.duck.close()
        self.close_postgres()

    def close_postgres(self) -> None:
        if self._postgres is not None:
            self._postgres.close()


@dataclass(frozen=True, slots=True)
class Session:
    """A cursor of one step or partition on its lake."""

    lake: Lake
    cursor: duckdb.DuckDBPyConnection

    def ask(self, statement: LiteralString | Composed, arguments: Any = None) -> list[tuple[Any, ...]]:
        """Ask the lake's catalog database."""
        return instance(self.lake).ask(statement, arguments)

    def transact(self, work: Callable[[], T], message: str, extra: Callable[[T], str] | None = None) -> T:
        """All of the work in one transaction, whose snapshot, if it makes one, says who wrote what."""
        self.cursor.execute("BEGIN")
        try:
            result = work()
            arguments = f"{literal(AUTHOR)}, {literal(message)}"
            if extra is not None:
                arguments += f", extra_info => {literal(extra(result))}"
            self.cursor.execute(f"CALL {_name(self.lake.catalog_name)}.set_commit_message({arguments})")
            self.cursor.execute("COMMIT")
        except BaseException:
            self.roll_back()
            raise
        return result

    def roll_back(self) -> None:
        with suppress(duckdb.TransactionException):  # a failed COMMIT has ended it already
            self.cursor.execute("ROLLBACK")


_instances: dict[tuple[int, Lake], Instance] = {}


def worker_id() -> str:
    """Who runs a command: this process on this host."""
    return f"{socket.gethostname()}-{os.getpid()}"


def instance(lake: Lake) -> Instance:
    # The process is part of the key: Spark's daemon forks its workers, and no connection survives a fork.
    key = (os.getpid(), replace(lake, metadata_schema=lake.schema, create=False, use=True))
    if key not in _instances:
        _instances[key] = Instance(lake, _attached(lake))
    return _instances[key]


@contextmanager
def session(lake: Lake, variables: Mapping[str, str]) -> Iterator[Session]:
    """A cursor that stands in the lake and knows the step's variables, and nothing of the last one's."""
    cursor = instance(lake).duck.cursor()
    try:
        if lake.use:
            cursor.execute(f"USE {_name(lake.catalog_name)}")
        for name, value in {"worker_id": worker_id(), **variables}.items():
            cursor.execute(f"SET VARIABLE {name} = {literal(value)}")
        yield Session(lake, cursor)
    finally:
        cursor.close()


def close_all() -> None:
    """Let go of every lake that this process holds: their servers may now end."""
    while _instances:
        _, held = _instances.popitem()
        held.close()


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _attached(lake: Lake) -> duckdb.DuckDBPyConnection:
    duck = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    try:
        for extension in _EXTENSIONS:
            duck.execute(f"LOAD {literal(str(_extension(extension)))}")
        if lake.memory_limit:
            duck.execute(f"SET memory_limit = {literal(lake.memory_limit)}")
        if lake.threads:
            duck.execute(f"SET threads = {int(lake.threads)}")
        parts = {
            key: str(value) for key, value in conninfo_to_dict(lake.conninfo).items() if value is not None
        }
        duck.execute(_secret(parts))
        duck.execute(_attach(lake, parts))
    except BaseException:
        duck.close()
        raise
    return duck


def _extension(name: str) -> Path:
    folder = files(f"duckdb_extension_{name}") / "extensions" / f"v{duckdb.__version__}"
    return Path(str(folder)) / f"{name}.duckdb_extension"


def _secret(parts: Mapping[str, str]) -> str:
    given = [f"{key} {literal(parts[name])}" for name, key in _SECRET_PARTS.items() if name in parts]
    return f"CREATE SECRET runnel_playbook ({', '.join(['TYPE postgres', *given])})"


def _attach(lake: Lake, parts: Mapping[str, str]) -> str:
    shown = {name: value for name, value in parts.items() if name not in (*_SECRET_PARTS, *_NOT_SHOWN)}
    rest = make_conninfo(**shown) if shown else ""
    return (
        f"ATTACH {literal('ducklake:postgres:' + rest)} AS {_name(lake.catalog_name)} ("
        f"DATA_PATH {literal(lake.data_path)}, METADATA_SCHEMA {literal(lake.schema)}, "
        f"META_SECRET 'runnel_playbook', CREATE_IF_NOT_EXISTS {str(lake.create).lower()})"
    )
