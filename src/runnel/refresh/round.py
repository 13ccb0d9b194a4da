"""One round: the stream tables that are refreshed together, at one snapshot, level by level.

A level's first-gear programs share one Spark job; each stream table then applies in a transaction of its own,
so one that fails holds up nobody. What reads a stream table refreshed in this very round reads it through a
second snapshot, pinned by its refresh number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import psycopg
from pyspark.sql import SparkSession

from runnel.catalog import client
from runnel.catalog.client import StreamTable
from runnel.catalog.connection import Connection, connect
from runnel.errors import InternalError, RunnelError, SchemaError, TransientError
from runnel.lake.spec import uuid7
from runnel.points import reached
from runnel.refresh import apply as applying
from runnel.refresh import compute, plan
from runnel.refresh.compiled import Programs, target_of
from runnel.refresh.full import query_at
from runnel.refresh.lakes import Lakes
from runnel.refresh.leftovers import clear_attempt
from runnel.refresh.model import Attempt, Compiled, Options, Outcome, outcome_of, unchanged
from runnel.refresh.prepare import NothingToDo, Scene, prepare
from runnel.refresh.reader import OpenReader, SourceLocked, open_reader

OnOutcome = Callable[[Outcome], None]

_SHORT_WAIT_MS = 250
_APPLIES = 4


@dataclass(slots=True)
class Refresher:
    """Refreshes stream tables of one database on one Spark session; holds its connections open."""

    dsn: str
    spark: SparkSession
    options: Options = field(default_factory=Options)
    programs: Programs = field(default_factory=Programs)
    _connections: dict[str, Connection] = field(default_factory=dict)
    _idle: list[Connection] = field(default_factory=list)

    def connection(self, role: str) -> Connection:
        """The open connection for one purpose; a broken one is replaced."""
        found = self._connections.get(role)
        if found is None or found.closed or found.broken:
            found = self._connections[role] = connect(self.dsn)
        return found

    @contextmanager
    def apply_connection(self) -> Iterator[Connection]:
        """A connection of one thread's own while it applies."""
        conn = self._idle.pop() if self._idle else connect(self.dsn)
        yield conn
        if not conn.closed and not conn.broken:
            self._idle.append(conn)

    def close(self) -> None:
        for conn in (*self._connections.values(), *self._idle):
            conn.close()
        self._idle.clear()

    def refresh(
        self, wanted: Iterable[int], *, full: bool = False, on_outcome: OnOutcome | None = None
    ) -> list[Outcome]:
        """One round for the wanted stream tables and whom they bring along; `on_outcome` hears of each at once."""
        self._renew_captures()
        tables = {t.pgt_id: t for t in client.load_stream_tables(self.connection("control"))}
        present = [pgt_id for pgt_id in wanted if pgt_id in tables]
        chosen = plan.together(tables, present)
        left_out: list[Outcome] = []
        while True:
            try:
                return left_out + self._round(tables, chosen, set(present) if full else set(), on_outcome)
            except SourceLocked as error:
                out = plan.readers_of(tables, chosen, error.relid)
                chosen -= out
                left_out += [dataclasses.replace(unchanged(tables[pgt_id]), error=error) for pgt_id in out]

    def _renew_captures(self) -> None:
        """Notices triggers that were disabled for a while; whoever alters a stream table now is not waited for."""
        conn = self.connection("control")
        try:
            with conn.transaction():
                conn.execute(f"SET LOCAL lock_timeout = {_SHORT_WAIT_MS}".encode())
                client.renew_captures(conn)
        except psycopg.errors.LockNotAvailable:
            return

    def _round(
        self, tables: dict[int, StreamTable], chosen: set[int], full: set[int], on_outcome: OnOutcome | None
    ) -> list[Outcome]:
        """One that nobody else waits for may wait for a lock; one of many is left out of the round instead."""
        timeout = self.options.lock_timeout_ms if len(chosen) == 1 else _SHORT_WAIT_MS
        locked = [tables[pgt_id] for pgt_id in chosen]
        with open_reader(self.connection("reader"), locked, timeout) as reader:
            reached("after-snapshot")
            return Round(self, reader, set(chosen), full, on_outcome).run()


@dataclass(slots=True)
class Round:
    """The chosen stream tables on their way; `numbers` are the refreshes that this round made."""

    refresher: Refresher
    reader: OpenReader
    chosen: set[int]
    full: set[int]
    on_outcome: OnOutcome | None = None
    numbers: dict[int, int] = field(default_factory=dict)
    stale: set[int] = field(default_factory=set)
    lake_pins: dict[int, int] = field(default_factory=dict)
    tables: dict[int, StreamTable] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)

    def run(self) -> list[Outcome]:
        found = client.load_stream_tables(self.reader.conn)
        self.tables = {table.pgt_id: table for table in found}
        self.chosen &= set(self.tables)
        for level in plan.levels(self.tables, self.chosen):
            with ExitStack() as stack:
                self._run_level(level, self._scene(stack))
        return self.outcomes

    def _scene(self, stack: ExitStack) -> Scene:
        refresher = self.refresher
        return Scene(
            dsn=refresher.dsn,
            reader=self.reader,
            streams=self._stream_reader(stack),
            control=refresher.connection("control"),
            tables=self.tables,
            numbers=self.numbers,
            stale=frozenset(self.stale),
            full=frozenset(self.full),
            lakes=Lakes(self.reader.conn, refresher.dsn, self.lake_pins),
            options=refresher.options,
        )

    def _stream_reader(self, stack: ExitStack) -> OpenReader:
        """Where stream tables are read: at S, or later if this round has refreshed some."""
        if not self.numbers:
            return self.reader
        conn = self.refresher.connection("streams")
        return stack.enter_context(open_reader(conn, (), self.refresher.options.lock_timeout_ms))

    def _run_level(self, level: list[int], scene: Scene) -> None:
        """First gear together, applied before the slower ones are computed one by one."""
        attempts = [a for pgt_id in level if (a := self._prepared(self.tables[pgt_id], scene))]
        first = [attempt for attempt in attempts if attempt.error is None and attempt.gear == "first"]
        if first:
            compute.first_gear(self.refresher.spark, first, self.refresher.options.first_gear_rows)
        ready = [attempt for attempt in attempts if attempt.error is not None or attempt.rows is not None]
        self._finish(ready)
        for attempt in attempts:
            if attempt not in ready:
                _guard(attempt, self._second_gear if attempt.gear == "second" else self._by_postgres)
                self._finish([attempt])

    def _prepared(self, table: StreamTable, scene: Scene) -> Attempt | None:
        """The attempt, ready or failed; None where the stream table stays as it is."""
        attempt = Attempt(
            table, Compiled(table, target_of(table), None, None), uuid7(), frontier=self.reader.snapshot
        )
        try:
            attempt.compiled = self.refresher.programs.get(scene.control, table)
            prepare(scene, attempt)
        except NothingToDo as stays:
            if stays.waits:
                self.stale.add(table.pgt_id)
            self.outcomes.append(unchanged(table))
            return None
        except (RunnelError, psycopg.Error) as error:
            attempt.error = as_runnel_error(error)
        return attempt

    def _finish(self, attempts: list[Attempt]) -> None:
        """Applies side by side: each waits for the disk by itself."""
        with ThreadPoolExecutor(_APPLIES, "runnel-apply") as pool:
            applied = [pool.submit(self._apply, attempt) for attempt in attempts]
            for done in as_completed(applied):
                self._conclude(done.result())

    def _apply(self, attempt: Attempt) -> Attempt:
        reached("after-staging")
        if attempt.error is None:
            with self.refresher.apply_connection() as conn, attempt.timed("apply"):
                timeout = self.refresher.options.lock_timeout_ms
                _guard(attempt, lambda a: applying.apply(conn, a, timeout))
        return attempt

    def _conclude(self, attempt: Attempt) -> None:
        if attempt.error is not None:
            self.stale.add(attempt.table.pgt_id)
            clear_attempt(self.refresher.connection("control"), attempt)
            self._record_failure(attempt, attempt.error)
        elif attempt.number is not None:
            self.numbers[attempt.table.pgt_id] = attempt.number
        self.outcomes.append(outcome_of(attempt))
        if self.on_outcome is not None:
            self.on_outcome(self.outcomes[-1])

    def _second_gear(self, attempt: Attempt) -> None:
        compute.second_gear(self.refresher.spark, attempt, self.refresher.dsn)

    def _by_postgres(self, attempt: Attempt) -> None:
        conn = self.refresher.connection("full")
        query = query_at(conn, self.tables, attempt.table.pgt_id, self.numbers, {})
        compute.by_postgres(conn, attempt, query, self.reader.exported)

    def _record_failure(self, attempt: Attempt, error: RunnelError) -> None:
        """A failure is history; what will not pass by itself also shows in the stream table's status."""
        conn, table = self.refresher.connection("control"), attempt.table
        if isinstance(error, TransientError) or table.reason == str(error):
            return
        suspended = isinstance(error, SchemaError)
        try:
            with conn.transaction():
                conn.execute(f"SET LOCAL lock_timeout = {_SHORT_WAIT_MS}".encode())
                client.record_failure(
                    conn, table.pgt_id, status="suspended" if suspended else "error", reason=str(error)
                )
                applying.record(conn, attempt)
        except psycopg.errors.LockNotAvailable:
            return  # whoever holds the row alters it; if the error stands, the next attempt says so


def _guard(attempt: Attempt, step: Callable[[Attempt], None]) -> None:
    """The edge of one stream table's refresh: whatever goes wrong in it, the others go on."""
    try:
        step(attempt)
    except Exception as error:  # noqa: BLE001 -- the edge of a request, recorded
        attempt.error = as_runnel_error(error)


def as_runnel_error(error: Exception) -> RunnelError:
    """Any failure as one of the tree: what PostgreSQL says of the user's data is the user's to read."""
    if isinstance(error, RunnelError):
        return error
    first = _reason(error)
    if isinstance(error, psycopg.OperationalError) and not _passes_a_limit(error):
        return TransientError("PostgreSQL broke off", detail=first)
    return InternalError(first, detail=type(error).__name__)


def _reason(error: Exception) -> str:
    """One line: of a Java stack the innermost cause, else the first."""
    lines = str(error).splitlines() or [type(error).__name__]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return causes[-1] if causes else lines[0]


def _passes_a_limit(error: psycopg.Error) -> bool:
    """Such as a value too wide for an index: it will not pass by itself, whatever the driver files it under."""
    return (error.sqlstate or "").startswith("54")
