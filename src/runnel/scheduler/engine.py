"""The engine as a process knows it: it takes its place, serves, waits for a lost database, and ends when told."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import psycopg

from runnel.catalog.connection import Connection, connect
from runnel.catalog.install import check_version
from runnel.errors import RunnelError, TransientError, UserError
from runnel.refresh.leftovers import sweep
from runnel.refresh.round import Refresher
from runnel.scheduler.background import Publishing, Retention, Sinks
from runnel.scheduler.events import Event, OnEvent
from runnel.scheduler.idle import plan_for_looking
from runnel.scheduler.loop import Loop, SparkEnded
from runnel.scheduler.presence import take_place, who_holds_it

_LONGEST_WAIT = 5.0
_END_SECONDS = 1.0


@dataclass(slots=True)
class Engine:
    """Keeps all stream tables of one database fresh until `stop` is set."""

    dsn: str
    refresher: Refresher
    sinks: Sinks
    on_event: OnEvent
    waits_for_place: bool = True
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _has_served: bool = False
    _is_waiting: bool = False

    def run(self, stop: threading.Event) -> None:
        publishing, retention = Publishing(self.sinks, self._tell), Retention(self.dsn)
        publishing.start()
        retention.start()
        try:
            self._live(publishing, stop)
        finally:
            publishing.close(_END_SECONDS)
            retention.close(_END_SECONDS)
            self._tell(Event("stopped", "the engine has ended"))

    def _tell(self, event: Event) -> None:
        """One at a time, whichever thread it comes from."""
        with self._lock:
            self.on_event(event)

    def _live(self, publishing: Publishing, stop: threading.Event) -> None:
        failures = 0
        while not stop.is_set():
            try:
                with connect(self.dsn) as conn:
                    failures = 0
                    self._serve(conn, publishing, stop)
            except SparkEnded:
                raise
            except (RunnelError, psycopg.Error) as error:
                self._bear(error)
                failures += 1
                stop.wait(min(0.25 * 2.0 ** min(failures - 1, 10), _LONGEST_WAIT))

    def _serve(self, conn: Connection, publishing: Publishing, stop: threading.Event) -> None:
        check_version(conn)
        if not self._take_place(conn, stop):
            return
        if not self._has_served:
            self._tell(Event("started", f"serving the database {conn.info.dbname}"))
        elif self._is_waiting:
            self._tell(Event("resumed", f"connected again to the database {conn.info.dbname}"))
        self._has_served, self._is_waiting = True, False
        sweep(conn)
        plan_for_looking(conn)
        Loop(conn, self.refresher, publishing, self._tell).run(stop)

    def _take_place(self, conn: Connection, stop: threading.Event) -> bool:
        """Waits until no other engine serves this database; False where `stop` came first."""
        told = False
        while not take_place(conn):
            if not self.waits_for_place:
                raise UserError(
                    f"{who_holds_it(conn)} serves the database {conn.info.dbname}",
                    hint="stop that one first, or let this one wait to take its place",
                )
            if not told:
                text = f"{who_holds_it(conn)} serves this database: waiting to take its place"
                self._tell(Event("waiting", text))
                told = True
            if stop.wait(0.5):
                return False
        return True

    def _bear(self, error: RunnelError | psycopg.Error) -> None:
        """Before it ever served, an error ends the engine; afterwards it waits for what may pass."""
        lost = isinstance(error, psycopg.OperationalError | TransientError)
        if not self._has_served or not lost:
            raise error
        if not self._is_waiting:
            reason = error.message if isinstance(error, RunnelError) else str(error).splitlines()[0]
            self._tell(Event("waiting", f"the database is out of reach, waiting for it: {reason}"))
            self.refresher.close()  # its connections are lost as well, and are opened again when needed
        self._is_waiting = True
