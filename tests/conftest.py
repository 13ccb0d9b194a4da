"""What all tests share: one server of each version and one Spark session a run, a fresh database a test."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from runnel.catalog.install import install
from runnel.servers import EmbeddedPostgres, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=100_000, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# The server of a test run is thrown away with it, so nothing has to outlive a power cut.
_SETTINGS = {"fsync": "off", "full_page_writes": "off", "max_connections": "200"}
_ENGINE_ROLE = "runnel_engine"
_ENGINE_PASSWORD = secrets.token_hex(8)
_INSTALLED = "template_runnel"

Login = Callable[..., str]
Connect = Callable[..., psycopg.Connection[Any]]


_TOLD = pytest.StashKey[list[str]]()


def tell(config: pytest.Config, text: str) -> None:
    """Prints a text at the end of the run, also from a process of pytest-xdist."""
    if hasattr(config, "workeroutput"):
        config.workeroutput.setdefault("told", []).append(text)
    else:
        config.stash.setdefault(_TOLD, []).append(text)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    for text in getattr(node, "workeroutput", {}).get("told", []):
        tell(node.config, text)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for text in config.stash.get(_TOLD, []):
        terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def pg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """PostgreSQL 18, as its superuser."""
    yield from _serve(tmp_path_factory.mktemp("servers") / "pg18", 18)


@pytest.fixture(scope="session")
def pg16(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """PostgreSQL 16, as its superuser."""
    yield from _serve(tmp_path_factory.mktemp("servers") / "pg16", 16)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> EmbeddedPostgres:
    """The server of this test's databases: 18, or as `parametrize("server", …, indirect=True)` says."""
    version = getattr(request, "param", 18)
    found: EmbeddedPostgres = request.getfixturevalue({18: "pg", 16: "pg16"}[version])
    return found


@pytest.fixture
def database(server: EmbeddedPostgres) -> Iterator[str]:
    """The DSN of a fresh and empty database, as the server's superuser."""
    with _fresh_database(server, template="template0", owner="postgres") as name:
        yield server.dsn_of(name)


@pytest.fixture
def runnel_db(server: EmbeddedPostgres) -> Iterator[str]:
    """The DSN of a fresh database with the SQL API installed, as the engine's role: no superuser, its owner.

    `server.dsn_of(...)` is the superuser's way in, `login` makes further roles.
    """
    _ensure_installed_template(server)
    with _fresh_database(server, template=_INSTALLED, owner=_ENGINE_ROLE) as name:
        yield _engine_dsn(server, name)


@pytest.fixture
def login(server: EmbeddedPostgres) -> Login:
    """`login(dsn, "alice", "CREATEROLE")`: the DSN of a new role of that name (a suffix makes it unique)."""

    def make(dsn: str, name: str = "user", options: str = "") -> str:
        role, password = f"{name}_{secrets.token_hex(4)}", secrets.token_hex(8)
        _create_role(server, role, password, options)
        return make_conninfo(dsn, user=role, password=password)

    return make


@pytest.fixture
def connect() -> Iterator[Connect]:
    """`connect(dsn, autocommit=True)`: a connection that is closed when the test ends."""
    opened: list[psycopg.Connection[Any]] = []

    def make(dsn: str, **options: Any) -> psycopg.Connection[Any]:
        opened.append(psycopg.connect(dsn, **options))
        return opened[-1]

    yield make
    for connection in opened:
        connection.close()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The Spark session of the run, on two local cores."""
    from runnel.spark.session import create_session  # noqa: PLC0415  a run without Spark does not wait for it

    os.environ["JAVA_HOME"] = str(find_java().parent.parent)
    session = create_session("runnel-tests", master="local[2]")
    yield session
    session.stop()


def _serve(folder: Path, version: int) -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(folder, version=version, settings=_SETTINGS) as server:
        yield server
    shutil.rmtree(folder)


@contextmanager
def _fresh_database(server: EmbeddedPostgres, *, template: str, owner: str) -> Iterator[str]:
    """The name of a database that is dropped at the end with whoever is still connected."""
    name = f"test_{secrets.token_hex(6)}"
    _create_database(server, name, template, owner)
    yield name
    _execute(server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _ensure_installed_template(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.dsn) as connection:
        found = connection.execute("SELECT FROM pg_database WHERE datname = %s", (_INSTALLED,))
        if found.rowcount:
            return
        roles = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (_ENGINE_ROLE,))
    if not roles.rowcount:
        _create_role(server, _ENGINE_ROLE, _ENGINE_PASSWORD, "")
    # Renamed only when all is in it: a failed installation fails every test that needs it.
    new = f"{_INSTALLED}_new_{secrets.token_hex(4)}"
    _create_database(server, new, "template0", _ENGINE_ROLE)
    install(_engine_dsn(server, new))
    _execute(
        server,
        sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(new), sql.Identifier(_INSTALLED)),
    )


def _engine_dsn(server: EmbeddedPostgres, database: str) -> str:
    return make_conninfo(server.dsn_of(database), user=_ENGINE_ROLE, password=_ENGINE_PASSWORD)


def _create_database(server: EmbeddedPostgres, name: str, template: str, owner: str) -> None:
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}")
    _execute(server, create.format(sql.Identifier(name), sql.Identifier(template), sql.Identifier(owner)))


def _create_role(server: EmbeddedPostgres, name: str, password: str, options: str) -> None:
    create = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} " + options)
    _execute(server, create.format(sql.Identifier(name), sql.Literal(password)))


def _execute(server: EmbeddedPostgres, statement: sql.Composed) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(statement)
