"""An engine of the test's own: in a thread, on the run's Spark session, its events noted down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import runnel
from runnel.scheduler import Event

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 90.0  # seconds; the machine that runs the tests may be busy


def wait_until(condition: Callable[[], Any], what: str = "") -> Any:
    """The condition's first true value."""
    give_up_at = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < give_up_at, f"waited for {what or condition} in vain"
        time.sleep(0.02)
    return found


@dataclass
class RunningEngine:
    """An engine with what it told, and what it died of."""

    stop: threading.Event = field(default_factory=threading.Event)
    events: list[Event] = field(default_factory=list)
    error: BaseException | None = None
    thread: threading.Thread | None = None

    def of(self, kind: str, name: str | None = None) -> list[Event]:
        return [e for e in self.events if e.kind == kind and (name is None or e.name == name)]

    def wait_for(self, kind: str, name: str | None = None, count: int = 1) -> Event:
        wait_until(lambda: len(self.of(kind, name)) >= count, f"{count} {kind} of {name}: {self.events}")
        return self.of(kind, name)[count - 1]

    def end(self) -> None:
        self.stop.set()
        if self.thread is not None:
            self.thread.join(PATIENCE)
            assert not self.thread.is_alive(), "the engine did not end"


StartEngine = Callable[..., RunningEngine]


@pytest.fixture
def start_engine(spark: SparkSession) -> Iterator[StartEngine]:
    """`start_engine(dsn)`: runs until the test ends; `waits_for_place=False` as in `rn.run`."""
    with ExitStack() as running:
        yield lambda dsn, **options: running.enter_context(_running(dsn, spark, **options))


@contextmanager
def _running(dsn: str, spark: SparkSession, **options: Any) -> Iterator[RunningEngine]:
    engine = RunningEngine()

    def live() -> None:
        try:
            with runnel.connect(dsn, spark) as rn:
                rn.run(engine.stop, engine.events.append, **options)
        except BaseException as error:  # noqa: BLE001  the test asks for it
            engine.error = error

    engine.thread = threading.Thread(target=live)
    engine.thread.start()
    try:
        yield engine
    finally:
        engine.end()


def content(conn: psycopg.Connection[Any], table: str) -> list[tuple[Any, ...]]:
    return sorted(conn.execute(f"SELECT t::text FROM {table} AS t".encode()).fetchall())


def is_fresh(conn: psycopg.Connection[Any], table: str, query: str) -> bool:
    return content(conn, table) == content(conn, f"({query})")
