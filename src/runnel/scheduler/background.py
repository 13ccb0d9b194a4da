"""What goes on beside the refreshes, each in a thread with connections of its own: publishing, and retention.

A lake whose claim somebody else holds, or a log with many rows to delete, holds up no refresh.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

import psycopg

from runnel.catalog.connection import connect
from runnel.errors import RunnelError
from runnel.refresh.round import as_runnel_error
from runnel.scheduler import retention
from runnel.scheduler.events import Event, OnEvent, of_publication
from runnel.subscribers import Published

_FIRST, _LONGEST = 0.5, 60.0
_RETENTION_SECONDS = 5.0


class Sinks(Protocol):
    """What publishes: see the room `subscribers`."""

    def publish(self, pgt_id: int) -> Published | None: ...

    def remove_dropped(self) -> None: ...


@dataclass(slots=True)
class _Task:
    name: str
    pgt_id: int | None
    not_before: float = 0.0
    failures: int = 0


@dataclass(slots=True)
class Publishing:
    """Publishes what it is woken for, one sink after the other; one that fails is tried again later."""

    sinks: Sinks
    on_event: OnEvent
    _waiting: dict[int | None, _Task] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _ends: bool = False
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="runnel-publishing", daemon=True)
        self._thread.start()

    def wake(self, sinks: Iterable[tuple[int, str]]) -> None:
        self._add(_Task(name, pgt_id) for pgt_id, name in sinks)

    def wake_for_dropped(self) -> None:
        """Stream tables that publish no longer have a view in the lake to be removed."""
        self._add([_Task("a dropped sink", None)])

    def close(self, timeout: float) -> None:
        """The publication under way may end; what still waits is published by the next engine."""
        with self._changed:
            self._ends = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout)

    def _add(self, tasks: Iterable[_Task]) -> None:
        with self._changed:
            for task in tasks:
                self._waiting.setdefault(task.pgt_id, task)
            self._changed.notify()

    def _run(self) -> None:
        while (task := self._take()) is not None:
            try:
                self._work(task)
            except Exception as error:  # noqa: BLE001  the edge of one sink: the others go on
                self._failed(task, as_runnel_error(error))

    def _take(self) -> _Task | None:
        """The next task whose time has come; it is not waiting any more. None at the end."""
        with self._changed:
            while not self._ends:
                now = time.monotonic()
                ready = [task for task in self._waiting.values() if task.not_before <= now]
                if ready:
                    return self._waiting.pop(ready[0].pgt_id)
                times = [task.not_before - now for task in self._waiting.values()]
                self._changed.wait(min(times, default=None))
        return None

    def _work(self, task: _Task) -> None:
        if task.pgt_id is None:
            self.sinks.remove_dropped()
        elif (published := self.sinks.publish(task.pgt_id)) is not None:
            self.on_event(of_publication(task.name, published))

    def _failed(self, task: _Task, error: RunnelError) -> None:
        """It waits its turn again; a refresh meanwhile does not make it wait less."""
        wait = min(_FIRST * 2.0 ** min(task.failures, 20), _LONGEST)
        again = replace(task, not_before=time.monotonic() + wait, failures=task.failures + 1)
        with self._changed:
            self._waiting[task.pgt_id] = again
        if task.failures == 0:
            text = f"{task.name} could not be published: {error.message}"
            self.on_event(Event("sink-failed", text, task.name, error=error))


@dataclass(slots=True)
class Retention:
    """Trims logs and history now and then."""

    dsn: str
    _ends: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="runnel-retention", daemon=True)
        self._thread.start()

    def close(self, timeout: float) -> None:
        self._ends.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        while not self._ends.wait(_RETENTION_SECONDS):
            try:
                self._trim()
            except (RunnelError, psycopg.Error):
                continue  # the loop itself says when the database is gone

    def _trim(self) -> None:
        with connect(self.dsn) as conn:
            while retention.trim_logs(conn) and not self._ends.wait(0.05):
                pass
            retention.trim_history(conn)
