"""The public Python face: one object that stands for a database with Runnel in it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self

from runnel.api import naming
from runnel.api.records import Refresh, Status
from runnel.api.refusals import refusals
from runnel.api.session import OwnSession, start_session
from runnel.catalog import client
from runnel.catalog.connection import Connection
from runnel.catalog.connection import connect as open_connection
from runnel.catalog.install import InstallReport, check_version, install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from runnel.api.sinks import LakeSinks
    from runnel.refresh.model import Outcome
    from runnel.refresh.round import Refresher
    from runnel.refresh.verify import Verdict
    from runnel.scheduler import OnEvent
    from runnel.subscribers import Published

# What computes is imported where it is needed: pyspark alone takes longer than most calls here.


@dataclass(slots=True)
class Runnel:
    """A database with Runnel in it; a context manager. Spark starts with the first call that computes."""

    dsn: str = field(repr=False)
    master: str = "local[2]"
    _spark: SparkSession | None = None
    _own_session: OwnSession | None = None
    _conn: Connection | None = None
    _refresher: Refresher | None = None
    _sinks: LakeSinks | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._refresher is not None:
            self._refresher.close()
        if self._sinks is not None:
            self._sinks.close()
        if self._conn is not None:
            self._conn.close()
        if self._own_session is not None:
            self._own_session.end()
            self._own_session = None
        self._refresher = self._sinks = self._conn = None

    @property
    def spark(self) -> SparkSession:
        if self._spark is not None:
            return self._spark
        if self._own_session is None:
            self._own_session = start_session(self.master)
        return self._own_session.spark

    # the SQL API from Python

    def install(self, *, lake_schema: str = "ducklake", data_path: str | None = None) -> InstallReport:
        """Install the SQL API; with a data path also the lake that sinks publish to."""
        with refusals():
            report = install(self.dsn, lake_schema)
            if data_path is not None:
                from runnel.subscribers import ensure_lake  # noqa: PLC0415

                ensure_lake(self.connection, self.dsn, lake_schema, data_path)
            return report

    def create_stream_table(
        self,
        name: str,
        query: str,
        *,
        schedule: str = "1m",
        refresh_mode: str = "AUTO",
        sink: str | None = None,
        ducklake_sink_mode: str | None = None,
    ) -> str:
        """Create one and return its qualified name; under DIFFERENTIAL what cannot be maintained fails here."""
        arguments = [name, query, schedule, refresh_mode, sink, ducklake_sink_mode]
        with refusals(), self.connection.transaction():
            conn = self.connection
            row = conn.execute(
                "SELECT pgtrickle.create_stream_table(%s, %s, %s, %s, %s, %s)::oid", arguments
            ).fetchone()
            assert row is not None
            self._compile(row[0])
            created = naming.find_by_relation(conn, row[0])
            return created.name if created else name

    def alter_stream_table(
        self,
        name: str,
        *,
        query: str | None = None,
        schedule: str | None = None,
        refresh_mode: str | None = None,
        sink: str | None = None,
        ducklake_sink_mode: str | None = None,
    ) -> None:
        arguments = [name, query, schedule, refresh_mode, sink, ducklake_sink_mode]
        with refusals(), self.connection.transaction():
            naming.find(self.connection, name)
            self.connection.execute("SELECT pgtrickle.alter_stream_table(%s, %s, %s, %s, %s, %s)", arguments)
            self._compile(naming.find(self.connection, name).relid)

    def drop_stream_table(self, name: str, *, cascade: bool = False) -> None:
        with refusals():
            naming.find(self.connection, name)
            self.connection.execute("SELECT pgtrickle.drop_stream_table(%s, %s)", [name, cascade])

    def status(self) -> tuple[Status, ...]:
        with refusals():
            return tuple(
                Status(*row) for row in self.connection.execute("SELECT * FROM pgtrickle.pgt_status()")
            )

    def history(self, name: str, limit: int = 20) -> tuple[Refresh, ...]:
        """Its newest refreshes, newest first."""
        with refusals():
            naming.find(self.connection, name)
            rows = self.connection.execute(
                "SELECT * FROM pgtrickle.get_refresh_history(%s, %s)", [name, limit]
            )
            return tuple(Refresh(*row) for row in rows)

    # what computes

    def refresh(self, name: str, *, full: bool = False) -> Outcome:
        """Refresh one now, here, whether or not an engine runs; raises what went wrong."""
        with refusals():
            found = naming.find(self.connection, name)
            outcomes = self.refresher.refresh([found.pgt_id], full=full)
        outcome = next(outcome for outcome in outcomes if outcome.pgt_id == found.pgt_id)
        if outcome.error is not None:
            raise outcome.error
        return outcome

    def refresh_all(self) -> tuple[Outcome, ...]:
        """Refresh all that may run, in one round; each outcome holds its own error."""
        with refusals():
            tables = client.load_stream_tables(self.connection)
            return tuple(self.refresher.refresh([t.pgt_id for t in tables if t.status != "suspended"]))

    def verify(self, name: str) -> Verdict:
        """Refresh, then compare with what PostgreSQL itself computes from the query at the same moment."""
        from runnel.refresh.verify import verify  # noqa: PLC0415

        with refusals():
            return verify(self.refresher, naming.find(self.connection, name).pgt_id)

    def explain(self, name: str) -> str:
        """The program of a stream table: the text that a refresh runs."""
        from runnel.refresh.compiled import compile_table  # noqa: PLC0415
        from runnel.refresh.explain import explain  # noqa: PLC0415

        with refusals():
            found = naming.find(self.connection, name)
            return explain(compile_table(self.connection, self._load(found.relid)))

    def prepare(self) -> None:
        """Check the database and start Spark now rather than with the first call that computes."""
        self._check_database()
        _ = self.refresher

    def publish(self, name: str) -> Published | None:
        """Publish to the lake what was refreshed since; None where nothing waits."""
        with refusals():
            return self.sinks.publish(naming.find(self.connection, name).pgt_id)

    def run(
        self,
        stop: threading.Event | None = None,
        on_event: OnEvent | None = None,
        *,
        waits_for_place: bool = True,
    ) -> None:
        """Keep everything fresh until `stop` is set; returns when the refresh under way has ended.

        `on_event` is called with everything that happens, one event at a time, from several threads.
        """
        from runnel.scheduler import Engine, silent  # noqa: PLC0415

        engine = Engine(self.dsn, self.refresher, self.sinks, on_event or silent, waits_for_place)
        engine.run(stop or threading.Event())

    # inside

    @property
    def connection(self) -> Connection:
        """The connection behind the calls here; a new one is checked to be to a database with Runnel in it."""
        if self._conn is None or self._conn.closed or self._conn.broken:
            conn = open_connection(self.dsn)
            try:
                check_version(conn)
            except BaseException:
                conn.close()
                raise
            self._conn = conn
        return self._conn

    def _check_database(self) -> None:
        with refusals():
            self.connection.execute("SELECT")

    @property
    def refresher(self) -> Refresher:
        if self._refresher is None:
            self._check_database()  # one that is no good is told before Spark is started
            from runnel.refresh.round import Refresher  # noqa: PLC0415

            self._refresher = Refresher(self.dsn, self.spark)
        return self._refresher

    @property
    def sinks(self) -> LakeSinks:
        from runnel.api.sinks import LakeSinks  # noqa: PLC0415

        if self._sinks is None:
            self._sinks = LakeSinks(self.dsn)
        return self._sinks

    def _load(self, relid: int) -> client.StreamTable:
        tables = client.load_stream_tables(self.connection)
        return next(table for table in tables if table.relid == relid)

    def _compile(self, relid: int) -> None:
        """Compiles what this transaction made, where the user may read the catalog; else the engine will."""
        from runnel.refresh.compiled import compile_table  # noqa: PLC0415

        row = self.connection.execute(
            "SELECT has_table_privilege('pgtrickle.pgt_stream_tables', 'SELECT')"
        ).fetchone()
        if row is not None and row[0]:
            compile_table(self.connection, self._load(relid))


def connect(dsn: str = "", spark: SparkSession | None = None, *, master: str = "local[2]") -> Runnel:
    """Runnel in the database of `dsn` (empty: as the PG* variables say). Nothing is opened yet.

    A session that is given stays open; without one, Spark is started on `master` when it is first needed.
    """
    return Runnel(dsn, master, _spark=spark)
