"""The loop that keeps stream tables fresh: look, refresh together what is due and changed, tell, sleep."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib.resources import files
from uuid import UUID

import psycopg

from runnel.catalog import client, requests
from runnel.catalog.client import StreamTable
from runnel.catalog.connection import Connection
from runnel.catalog.requests import Request
from runnel.errors import InternalError, RunnelError, TransientError
from runnel.refresh import plan
from runnel.refresh.model import Outcome
from runnel.refresh.round import Refresher, as_runnel_error
from runnel.scheduler import due as deciding
from runnel.scheduler.background import Publishing
from runnel.scheduler.due import Memory
from runnel.scheduler.events import Event, OnEvent, of_outcome
from runnel.scheduler.idle import IdleCheck

_TICK = 0.02  # how soon a request from SQL is seen
_PULSE = 0.1  # how soon a commit is seen that changes what there is to do
_CAPTURES = 2.0  # how often it is seen that a source's triggers were disabled for a while
_TOLD_AFTER = 3  # attempts that fail by a lock or a lost fence before it is worth a line
_SUSPECT_LOCK_TIMEOUT_MS = 250
_PULSE_QUERY = files("runnel.scheduler").joinpath("sql", "pulse.sql").read_bytes()

_NEWEST = """
SELECT h.refresh_id,
       CASE WHEN t.status = 'suspended' THEN 'it is suspended: ' || coalesce(t.reason, 'no reason was recorded') END
FROM pgtrickle.pgt_stream_tables AS t LEFT JOIN pgtrickle.pgt_refresh_history AS h
    ON (h.pgt_id, h.refresh_number) = (t.pgt_id, t.refresh_number)
WHERE t.pgt_id = %s
"""


class SparkEnded(InternalError):
    """Nothing more can be computed in this process."""


@dataclass(slots=True)
class Loop:
    """One life of the engine on one connection; when that breaks, whoever runs it makes a new one."""

    conn: Connection
    refresher: Refresher
    publishing: Publishing
    on_event: OnEvent
    tables: dict[int, StreamTable] = field(default_factory=dict)
    memories: dict[int, Memory] = field(default_factory=dict)
    _idle: IdleCheck = field(default_factory=lambda: IdleCheck({}, {}))
    _shape: str | None = None
    _signal: int = -1
    _pulse_at: float = 0.0
    _captures_at: float = 0.0
    _errors: dict[int, str] = field(default_factory=dict)
    _told: dict[int, str] = field(default_factory=dict)

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            worked = self.tick()
            if not worked:
                stop.wait(self._pause())

    def tick(self) -> bool:
        """Look once and do what there is to do; False where there was nothing."""
        now = time.monotonic()
        asked = self._listen(now)
        ready = deciding.due(self.tables, self.memories, now)
        changed = self._changed(ready) if ready else set()
        for pgt_id in ready - changed:
            self.memories[pgt_id] = deciding.looked_at(self.tables[pgt_id], now)
        wanted = changed | self._families(asked)
        if wanted:
            self._refresh(wanted, now)
        self._answer(asked)
        return bool(wanted)

    def _pause(self) -> float:
        """Until the next one is due, but never so long that a request would have to wait."""
        now = time.monotonic()
        return max(0.001, min(_TICK, deciding.next_at(self.tables, self.memories, now) - now))

    def _changed(self, ready: frozenset[int]) -> set[int]:
        try:
            return self._idle.changed(self.conn, ready)
        except psycopg.ProgrammingError:
            # a log or a lake went meanwhile, or may not be read any more: the round tells whose it is
            self._shape = None
            return set(ready)

    # what there is

    def _listen(self, now: float) -> list[Request]:
        """The requests to serve; on the way, stream tables that are new, altered or gone are noticed."""
        signal = requests.last_signal(self.conn)
        moved = signal != self._signal
        if not moved and now < self._pulse_at:
            return []
        self._signal, self._pulse_at = signal, now + _PULSE
        rows = self._pulse(now)
        if not moved and not rows:
            return []
        # Whoever waits shows it by a lock, kept to the end of his transaction: it asks once, when the signal moved.
        found = requests.pending_requests(self.conn)
        return [request for request in found if moved or request.pgt_id in rows]

    def _pulse(self, now: float) -> set[int]:
        if now >= self._captures_at:
            self._renew_captures()
            self._captures_at = now + _CAPTURES
        row = self.conn.execute(_PULSE_QUERY, prepare=True).fetchone()
        assert row is not None
        _, shape, asked_by_row, has_dropped_sinks = row
        if shape != self._shape:
            self._reload()
            self._shape = shape
        if has_dropped_sinks:
            self.publishing.wake_for_dropped()
        return set(asked_by_row)

    def _renew_captures(self) -> None:
        try:
            with self.conn.transaction():
                self.conn.execute(f"SET LOCAL lock_timeout = {_SUSPECT_LOCK_TIMEOUT_MS}".encode())
                client.renew_captures(self.conn)
        except psycopg.errors.LockNotAvailable:
            return  # somebody alters a stream table at this moment: the next time will do

    def _reload(self) -> None:
        with self.conn.transaction():
            found = client.load_stream_tables(self.conn)
            lakes = client.load_lakes(self.conn)
        self.tables = {table.pgt_id: table for table in found}
        self.memories = {i: memory for i, memory in self.memories.items() if i in self.tables}
        self._idle = IdleCheck(self.tables, {lake.lake_id: lake for lake in lakes}, self._idle.seen)
        self._wake_sinks(table.pgt_id for table in found if table.is_populated)

    # refreshing

    def _families(self, asked: Iterable[Request]) -> set[int]:
        """Who asks for a refresh wants what was committed before: the upstreams are brought up to date too."""
        present = {request.pgt_id for request in asked} & set(self.tables)
        families = present.union(*(plan.ancestors(self.tables, pgt_id) for pgt_id in present))
        return {pgt_id for pgt_id in families if self.tables[pgt_id].status != "suspended"}

    def _refresh(self, wanted: set[int], now: float) -> None:
        """All together; those which failed before, after the others and with less patience."""
        suspects = {i for i in wanted if (known := self.memories.get(i)) and known.failures}
        healthy = wanted - suspects
        if healthy and not self._round(healthy, now):
            suspects |= healthy
        patient = self.refresher.options
        self.refresher.options = replace(patient, lock_timeout_ms=_SUSPECT_LOCK_TIMEOUT_MS)
        try:
            for pgt_id in sorted(suspects):
                self._round({pgt_id}, now)
        finally:
            self.refresher.options = patient

    def _round(self, wanted: set[int], now: float) -> bool:
        """False where all of them failed: a source that is locked, or a job that broke down, stops every one."""
        try:
            outcomes = self.refresher.refresh(wanted, on_outcome=self._wake_sink)
        except Exception as error:  # noqa: BLE001  the edge of a round, recorded below
            self._require_database()
            if not isinstance(error, RunnelError | psycopg.Error):
                self._require_spark()
            if len(wanted) > 1:
                return False
            self._failed(next(iter(wanted)), as_runnel_error(error))
            return True
        for outcome in outcomes:
            self._finished(outcome, now)
        if any(isinstance(outcome.error, InternalError) for outcome in outcomes):
            self._require_spark()
        return True

    def _require_database(self) -> None:
        """A lock that is not to be had is one stream table's trouble, a lost connection everybody's."""
        self.conn.execute("SELECT")

    def _require_spark(self) -> None:
        try:
            self.refresher.spark.range(1).count()
        except Exception as error:
            # whatever it says, without Spark there is nothing that this engine could do
            raise SparkEnded(
                "Spark has ended", hint="start the engine again; if it ran out of memory, give it more"
            ) from error

    def _finished(self, outcome: Outcome, now: float) -> None:
        table = self.tables.get(outcome.pgt_id)
        if table is None:
            return
        if outcome.error is not None:
            self._failed(outcome.pgt_id, outcome.error, of_outcome(outcome))
            return
        self._told.pop(outcome.pgt_id, None)
        self._errors.pop(outcome.pgt_id, None)
        self.memories[outcome.pgt_id] = deciding.looked_at(table, now)
        if outcome.refreshed:
            self.on_event(of_outcome(outcome))

    def _failed(self, pgt_id: int, error: RunnelError, event: Event | None = None) -> None:
        table = self.tables.get(pgt_id)
        if table is None:
            return
        self._idle.forget(pgt_id)
        memory = deciding.failed(table, self.memories.get(pgt_id), error, time.monotonic())
        self.memories[pgt_id] = memory
        self._errors[pgt_id] = error.message
        name = table.qualified_name
        event = event or Event("failed", f"{name} could not be refreshed: {error.message}", name, error=error)
        passes = isinstance(error, TransientError) and memory.failures < _TOLD_AFTER
        if not passes and self._told.get(pgt_id) != event.text:
            self._told[pgt_id] = event.text
            self.on_event(event)

    def _wake_sink(self, outcome: Outcome) -> None:
        """As soon as it has committed: what others of the round still compute holds up no publication."""
        if outcome.refreshed:
            self._wake_sinks([outcome.pgt_id])

    def _wake_sinks(self, refreshed: Iterable[int]) -> None:
        found = (self.tables[i] for i in refreshed if i in self.tables)
        self.publishing.wake(
            (table.pgt_id, table.qualified_name) for table in found if table.sink is not None
        )

    # answering

    def _answer(self, asked: Iterable[Request]) -> None:
        for request in asked:
            refresh_id, error = self._newest(request.pgt_id)
            with self.conn.transaction():
                requests.finish_request(self.conn, request, refresh_id=refresh_id, error=error)

    def _newest(self, pgt_id: int) -> tuple[UUID | None, str | None]:
        """The newest refresh, or why there is none that saw everything."""
        family = [pgt_id, *(plan.ancestors(self.tables, pgt_id) if pgt_id in self.tables else ())]
        failed = [member for member in family if member in self._errors]
        if failed:
            member = "" if failed[0] == pgt_id else f"{self.tables[failed[0]].qualified_name}: "
            return None, member + self._errors[failed[0]]
        row = self.conn.execute(_NEWEST, [pgt_id]).fetchone()
        return (None, "it is gone") if row is None else (row[0], row[1])
