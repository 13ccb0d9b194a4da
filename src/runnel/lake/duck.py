"""One DuckDB per process: loading costs 200 ms once, a cursor costs nothing."""

from __future__ import annotations

import os
import threading
from importlib import import_module
from pathlib import Path

import duckdb

from runnel.errors import InternalError

_lock = threading.Lock()
_instances: dict[int, duckdb.DuckDBPyConnection] = {}  # by process id: a fork must not share one


def cursor() -> duckdb.DuckDBPyConnection:
    """A cursor of this process's DuckDB, for Parquet; close it after use."""
    with _lock:
        instance = _instances.get(os.getpid())
        if instance is None:
            instance = _instances[os.getpid()] = connect()
        return instance.cursor()


def connect(extensions: tuple[str, ...] = (), **settings: str | int) -> duckdb.DuckDBPyConnection:
    """A DuckDB of its own, which never fetches anything and reads times as UTC."""
    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False, **settings})
    connection.execute("SET TimeZone = 'UTC'")
    for name in extensions:
        connection.execute(f"LOAD '{extension_path(name)}'")
    return connection


def extension_path(name: str) -> str:
    """The binary of a DuckDB extension, from its wheel."""
    package = import_module(f"duckdb_extension_{name}")
    root = Path(next(iter(package.__path__)))
    if not (found := sorted(root.glob(f"extensions/*/{name}.duckdb_extension"))):
        raise InternalError(f"the wheel of the DuckDB extension {name} holds no binary")
    return str(found[-1]).replace("'", "''")
