"""Publishes stream tables to the lake: what a refresh changed becomes one snapshot of its own.

Files are written first; then one transaction moves the sink's frontier, claims the lake and adds snapshots. A
publisher killed at any moment leaves the lake as it was, or has published: the frontier is the fence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from uuid import UUID

import duckdb
import psycopg

from runnel.catalog.connection import Connection, connect
from runnel.catalog.install import package_version
from runnel.errors import RunnelError, TransientError
from runnel.lake.commit import Commit, commit
from runnel.points import reached
from runnel.subscribers import dropped
from runnel.subscribers.checkpoint import Growth, make_checkpoint, measure_growth
from runnel.subscribers.failures import CommitUnknownError, as_runnel_error
from runnel.subscribers.layout import Layout, load_layout
from runnel.subscribers.merge import MANY_FILES, Merger
from runnel.subscribers.queries import run
from runnel.subscribers.read import ArrowReader
from runnel.subscribers.sink import Refresh, Sink, load_refreshes, load_sink
from runnel.subscribers.steps import Files, Step, content_step, delta_steps, is_complete

Scales = Callable[[int], Mapping[str, int]]
_DRIVERS = (psycopg.Error, duckdb.Error, OSError)
_MOST_AT_ONCE = 50  # snapshots under one claim, which other writers wait for


@dataclass(frozen=True, slots=True)
class PublishedSnapshot:
    snapshot_id: int
    refresh_number: int
    refresh_id: UUID
    rows: int


@dataclass(frozen=True, slots=True)
class Published:
    """What one call has made visible; no snapshots where refreshes changed nothing."""

    pgt_id: int
    name: str
    upto: int
    newest: int  # the newest refresh when it began
    snapshots: tuple[PublishedSnapshot, ...]
    phases: dict[str, float]


def no_scales(_pgt_id: int) -> Mapping[str, int]:
    return {}


@dataclass(slots=True)
class _Known:
    """What is remembered of a sink between publications."""

    place: tuple[object, ...]
    layout: Layout
    growth: Growth | None  # of an append sink


@dataclass(slots=True)
class Publisher:
    """Publishes the sinks of one database, one at a time; holds its connections open.

    `decimal_scales` tells, when a sink is made, which columns are sums of a numeric with a declared scale:
    PostgreSQL's type does not say so, and in the lake they are DECIMAL(38, scale).
    """

    dsn: str
    decimal_scales: Scales = no_scales
    lock_timeout_ms: int = 5_000
    merges_files: bool = True
    _conn: Connection | None = None
    _reader: ArrowReader | None = None
    _known: dict[int, _Known] = field(default_factory=dict)
    _mergers: dict[str, Merger] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def publish(self, pgt_id: int) -> Published | None:
        """Brings one sink up to the newest refresh; None where there is nothing to do.

        A failure is recorded in pgt_sinks.last_error and raised; the refreshes that it met stay unpublished.
        """
        try:
            with self._lock:
                found: Published | None = None
                while (more := self._publish(pgt_id)) is not None:
                    found = more if found is None else _joined(found, more)
                    if found.upto >= found.newest:
                        self._keep(pgt_id)
                        break
                return found
        except (RunnelError, *_DRIVERS) as error:
            known = as_runnel_error(error)
            self._known.pop(pgt_id, None)
            self._record(pgt_id, known)
            raise known from error

    def checkpoint(self, pgt_id: int) -> int | None:
        """Moves the base of an append sink to the newest refresh; the snapshot, None where there is none to move."""
        self.publish(pgt_id)
        with self._lock:
            return self._checkpoint(pgt_id)

    def remove_dropped(self) -> int:
        """Takes the views and tables of sinks that are no more out of the lake; how many there were."""
        with self._lock:
            return dropped.remove_dropped(self._connection())

    def close(self) -> None:
        for connection in (self._conn, self._reader):
            if connection is not None:
                connection.close()
        for merger in self._mergers.values():
            merger.close()
        self._mergers.clear()
        self._conn = self._reader = None

    def _publish(self, pgt_id: int) -> Published | None:
        """One transaction's worth of refreshes."""
        phases: dict[str, float] = {}
        with _timed(phases, "read"):
            sink = load_sink(self._connection(), pgt_id)
            if sink is None or not sink.is_populated or sink.published == sink.refresh_number:
                return None
            if sink.published == 0:  # what bore its name before makes room
                dropped.remove_dropped(self._connection())
            known = self._lookup(sink)
        files = Files(known.layout)
        try:
            upto, steps = self._prepare(sink, files, phases)
            reached("after-upload")
            with _timed(phases, "commit"):
                snapshots = self._commit(sink, known.layout, upto, steps)
        except CommitUnknownError as unknown:
            raise as_runnel_error(unknown.cause) from unknown.cause
        except BaseException:
            files.remove()
            raise
        reached("after-publication")
        if known.layout.creation():
            self._known.pop(pgt_id, None)
        elif known.growth is not None:
            for snapshot in snapshots:
                known.growth.append(snapshot.rows)
        return Published(pgt_id, sink.title, upto, sink.refresh_number, snapshots, phases)

    def _prepare(self, sink: Sink, files: Files, phases: dict[str, float]) -> tuple[int, list[Step]]:
        """Reads what waits and writes its files."""
        upto = min(sink.refresh_number, sink.published + _MOST_AT_ONCE)
        has_log = files.layout.is_new if sink.published == 0 else not files.layout.is_reshaped
        if sink.mode == "append" and sink.published < upto and has_log:
            with _timed(phases, "read"):
                refreshes = load_refreshes(self._connection(), sink, upto)
                delta = self._arrow().delta(sink, files.layout.columns, sink.published, upto)
            if is_complete(refreshes, delta, sink.published, upto):
                with _timed(phases, "write"):
                    return upto, delta_steps(files, refreshes, delta)
        return self._prepare_content(sink, files, phases)

    def _prepare_content(self, sink: Sink, files: Files, phases: dict[str, float]) -> tuple[int, list[Step]]:
        """The whole result; nothing where it is known that no refresh has changed it."""
        with _timed(phases, "read"):
            waiting = load_refreshes(self._connection(), sink, sink.refresh_number)
            if sink.mode == "replace" and not files.layout.creation() and _changed_nothing(sink, waiting):
                return sink.refresh_number, []
            number, rows = self._arrow().content(sink, files.layout.columns)
            waiting = load_refreshes(self._connection(), sink, number)
        newest = next((refresh for refresh in waiting if refresh.number == number), None)
        with _timed(phases, "write"):
            return number, [content_step(files, newest, rows)]

    def _keep(self, pgt_id: int) -> None:
        """After a publication: what keeps the view fast, now and then. Its failure fails nothing."""
        known = self._known.get(pgt_id)
        if known is None or known.growth is None:
            return
        if known.growth.needs_checkpoint:
            try:
                self._checkpoint(pgt_id)
            except TransientError:
                pass  # the next publication tries again
            except (RunnelError, *_DRIVERS) as error:
                known.growth.reset(known.growth.base_rows)  # not at once again
                self._record(pgt_id, as_runnel_error(error))
        if known.growth.log_files >= MANY_FILES and self.merges_files:
            known.growth.log_files = 0
            self._merge(known.layout)

    def _checkpoint(self, pgt_id: int) -> int | None:
        sink = load_sink(self._connection(), pgt_id)
        if sink is None or sink.mode != "append" or sink.published == 0:
            return None
        known = self._lookup(sink)
        snapshot_id, rows = make_checkpoint(self._connection(), self._arrow(), sink, known.layout)
        if known.growth is not None:
            known.growth.reset(rows)
        return snapshot_id

    def _merge(self, layout: Layout) -> None:
        schema = layout.catalog.schema
        merger = self._mergers.setdefault(schema, Merger(self.dsn, schema))
        merger.start(layout.tables["log"].name)

    def _commit(
        self, sink: Sink, layout: Layout, upto: int, steps: list[Step]
    ) -> tuple[PublishedSnapshot, ...]:
        conn = self._connection()
        is_done = False
        try:
            with conn.transaction():
                if not run(conn, "advance", id=sink.pgt_id, after=sink.published, upto=upto):
                    raise TransientError(f"the sink of {sink.title} was published or dropped by someone else")
                snapshots = tuple(self._snapshot(conn, sink, layout, step) for step in steps)
                reached("before-publication")
                is_done = True
            return snapshots
        except psycopg.Error as error:
            if is_done:
                raise CommitUnknownError(error) from error
            raise

    def _snapshot(self, conn: Connection, sink: Sink, layout: Layout, step: Step) -> PublishedSnapshot:
        refresh = step.refresh
        made = commit(
            conn,
            layout.catalog,
            lambda *_: Commit(step.changes),
            author=f"pg_trickle/{package_version()}/stream_table/{sink.title}/{refresh.refresh_id}",
            message=f"refresh {refresh.number} of {sink.title}",
            extra_info=str(refresh.refresh_id),
        )
        reached("after-claim")
        run(
            conn,
            "provenance",
            relid=sink.relid,
            name=sink.title,
            snapshot=made.snapshot_id,
            refresh_id=refresh.refresh_id,
            number=refresh.number,
            frontier=refresh.frontier,
            rows=step.rows,
        )
        return PublishedSnapshot(made.snapshot_id, refresh.number, refresh.refresh_id, step.rows)

    def _lookup(self, sink: Sink) -> _Known:
        """Read once, and again when the stream table was altered or renamed."""
        place = (sink.generation, sink.schema, sink.name, sink.relid, sink.mode, sink.lake_schema)
        known = self._known.get(sink.pgt_id)
        if known is None or known.place != place:
            conn = self._connection()
            layout = load_layout(conn, sink, self.decimal_scales(sink.pgt_id))
            growth = measure_growth(conn, layout) if sink.mode == "append" else None
            self._known[sink.pgt_id] = known = _Known(place, layout, growth)
        return known

    def _record(self, pgt_id: int, error: RunnelError) -> None:
        try:
            run(self._connection(), "record_error", id=pgt_id, error=str(error))
        except (RunnelError, psycopg.Error):
            # the failure that is being reported is the one that counts
            return

    def _connection(self) -> Connection:
        if self._conn is None or self._conn.closed or self._conn.broken:
            self._conn = connect(self.dsn)
            self._conn.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            self._conn.execute(f"SET lock_timeout = {self.lock_timeout_ms}".encode())
        return self._conn

    def _arrow(self) -> ArrowReader:
        if self._reader is None:
            self._reader = ArrowReader(self.dsn)
        return self._reader


def _changed_nothing(sink: Sink, waiting: list[Refresh]) -> bool:
    expected = list(range(sink.published + 1, sink.refresh_number + 1))
    return [r.number for r in waiting] == expected and all(r.rows_out == 0 for r in waiting)


def _joined(first: Published, second: Published) -> Published:
    phases = {
        name: first.phases.get(name, 0.0) + second.phases.get(name, 0.0)
        for name in {**first.phases, **second.phases}
    }
    return Published(
        first.pgt_id, first.name, second.upto, second.newest, (*first.snapshots, *second.snapshots), phases
    )


@contextmanager
def _timed(phases: dict[str, float], phase: str) -> Iterator[None]:
    start = perf_counter()
    yield
    phases[phase] = phases.get(phase, 0.0) + (perf_counter() - start) * 1000
