"""One round: the stream tables that are refreshed together, at one snapshot, level by level.

A level's first-gear programs share one Spark job; each stream table then applies in a transaction of its own,
so one that fails holds up nobody. What reads a stream table refreshed in this very round reads it through a
second snapshot, pinned by its refresh number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field

import psycopg
from pyspark.sql import SparkSession

from runnel.catalog import client
from runnel.catalog.client import StreamTable
from runnel.catalog.connection import Connection, connect
from runnel.engine import delta_job, full_job, run_first, run_full, run_second
from runnel.errors import InternalError, RunnelError, SchemaError, TransientError
from runnel.lake.spec import uuid7
from runnel.refresh import apply as applying
from runnel.refresh import plan
from runnel.refresh.changes import Changed, pages_of, stream_changes, table_changes
from runnel.refresh.compiled import Programs
from runnel.refresh.full import evaluate
from runnel.refresh.inputs import bind
from runnel.refresh.model import Attempt, Compiled, Options, Outcome, outcome_of, unchanged
from runnel.refresh.points import reached
from runnel.refresh.reader import OpenReader, open_reader
from runnel.refresh.setup import ensure_setup
from runnel.relations import Reader


@dataclass(slots=True)
class Refresher:
    """Refreshes stream tables of one database on one Spark session; holds its connections open."""

    dsn: str
    spark: SparkSession
    options: Options = field(default_factory=Options)
    programs: Programs = field(default_factory=Programs)
    _connections: dict[str, Connection] = field(default_factory=dict)

    def connection(self, role: str) -> Connection:
        """The open connection for one purpose; a broken one is replaced."""
        found = self._connections.get(role)
        if found is None or found.closed or found.broken:
            self._connections[role] = connect(self.dsn)
        return self._connections[role]

    def close(self) -> None:
        for conn in self._connections.values():
            conn.close()

    def refresh(self, wanted: Iterable[int], *, full: bool = False) -> list[Outcome]:
        """One round for the wanted stream tables and whom they bring along."""
        tables = {t.pgt_id: t for t in client.load_stream_tables(self.connection("control"))}
        present = [pgt_id for pgt_id in wanted if pgt_id in tables]
        chosen = plan.together(tables, present)
        with open_reader(
            self.connection("reader"), (tables[i] for i in chosen), self.options.lock_timeout_ms
        ) as reader:
            reached("after-snapshot")
            return Round(self, reader, chosen, set(present) if full else set()).run()


@dataclass(slots=True)
class Round:
    refresher: Refresher
    reader: OpenReader
    chosen: set[int]
    full: set[int]
    numbers: dict[int, int] = field(default_factory=dict)
    tables: dict[int, StreamTable] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)

    def run(self) -> list[Outcome]:
        found = client.load_stream_tables(self.reader.conn)
        self.tables = {table.pgt_id: table for table in found}
        self.chosen &= set(self.tables)
        for level in plan.levels(self.tables, self.chosen):
            with ExitStack() as stack:
                self._run_level(level, self._stream_reader(stack))
        return self.outcomes

    def _stream_reader(self, stack: ExitStack) -> OpenReader:
        """Where stream tables are read: at S, or later if this round has refreshed some."""
        if not self.numbers:
            return self.reader
        conn = self.refresher.connection("streams")
        return stack.enter_context(open_reader(conn, (), self.refresher.options.lock_timeout_ms))

    def _run_level(self, level: list[int], streams: OpenReader) -> None:
        attempts = [a for pgt_id in level if (a := self._guarded(pgt_id, streams)) is not None]
        self._compute(attempts)
        for attempt in attempts:
            self._finish(attempt)

    def _guarded(self, pgt_id: int, streams: OpenReader) -> Attempt | None:
        table = self.tables[pgt_id]
        attempt: Attempt | None = None
        try:
            compiled = self.refresher.programs.get(self.refresher.connection("control"), table)
            attempt = Attempt(compiled, uuid7(), table=table, frontier=self.reader.snapshot)
            if self._prepare(attempt, streams):
                return attempt
            self.outcomes.append(unchanged(table))
        except (RunnelError, psycopg.Error) as error:
            known = as_runnel_error(error)
            failed = attempt or Attempt(
                Compiled(table, None, None, None),  # type: ignore[arg-type]
                uuid7(),
                table=table,
            )
            failed.error = known
            self._fail(failed)
        return None

    def _prepare(self, attempt: Attempt, streams: OpenReader) -> bool:
        """Decides mode and gear and binds inputs; False where there is nothing to do."""
        table, compiled, options = attempt.state, attempt.compiled, self.refresher.options
        if table.status == "suspended":
            return False
        problem = client.check_rights(self.reader.conn, table.pgt_id)
        if problem:
            raise SchemaError(problem)
        pinned = self._pin(table)
        if pinned is None:
            return False
        changes = self._changes(table, streams, pinned)
        forced = table.pgt_id in self.full or not table.is_populated
        if not forced and all(c.rows == 0 and not c.truncated for c in changes):
            return False
        attempt.consumed = pinned
        attempt.rows_in = sum(c.rows for c in changes)
        self._choose(attempt, changes, forced)
        if compiled.program is not None and attempt.content is None:
            settings = tuple(sorted(table.settings.items()))
            base = Reader(self.refresher.dsn, self.reader.exported, settings)
            stream = Reader(self.refresher.dsn, streams.exported, settings)
            pages = pages_of(self.reader.conn, table) if attempt.mode == "FULL" else {}
            attempt.inputs = bind(
                compiled.program, table, base, stream, self.reader.snapshot, pinned, pages
            )
        if not table.is_populated:
            ensure_setup(self.refresher.connection("control"), compiled, options.lock_timeout_ms)
        return True

    def _choose(self, attempt: Attempt, changes: list[Changed], forced: bool) -> None:
        table, compiled, options = attempt.state, attempt.compiled, self.refresher.options
        if compiled.reason is not None:
            attempt.mode, attempt.reason = "FULL", compiled.reason
        elif forced or any(c.truncated for c in changes):
            attempt.mode = "FULL"
            attempt.reason = "first fill" if not table.is_populated else (
                "asked for" if forced else "a source was truncated"
            )  # fmt: skip
        if attempt.mode == "FULL" or compiled.program is None:
            attempt.gear = "second" if compiled.program is not None else None
        elif options.gear is not None:
            attempt.gear = options.gear
        else:
            attempt.gear = "first" if attempt.rows_in <= options.first_gear_rows else "second"

    def _pin(self, table: StreamTable) -> dict[int, int] | None:
        """The refresh number that is read of each upstream; None while one has never been filled."""
        pinned: dict[int, int] = {}
        for dependency in table.dependencies:
            if dependency.upstream_id is None:
                continue
            upstream = self.tables[dependency.upstream_id]
            number = self.numbers.get(upstream.pgt_id)
            if number is None and not upstream.is_populated:
                return None
            pinned[dependency.relid] = number if number is not None else upstream.refresh_number
        return pinned

    def _changes(self, table: StreamTable, streams: OpenReader, pinned: dict[int, int]) -> list[Changed]:
        if not table.is_populated:
            return []
        limit, found = self.refresher.options.first_gear_rows, []
        for dependency in table.dependencies:
            if dependency.kind == "table":
                old, new = table.frontier or "", self.reader.snapshot
                found.append(table_changes(self.reader.conn, dependency, old, new, limit))
            elif dependency.kind == "stream":
                found.append(stream_changes(streams.conn, dependency, pinned[dependency.relid], limit))
        return found

    # computing

    def _compute(self, attempts: list[Attempt]) -> None:
        first = [a for a in attempts if a.gear == "first"]
        if first:
            self._first(first)
        for attempt in attempts:
            if attempt.error is None and attempt.rows is None:
                self._guard(attempt, self._second if attempt.gear == "second" else self._evaluate)

    def _first(self, attempts: list[Attempt]) -> None:
        limit = self.refresher.options.first_gear_rows
        jobs = [
            delta_job(i, a.name, a.compiled.program, a.inputs, limit)
            for i, a in enumerate(attempts)
            if a.compiled.program is not None
        ]
        with attempts[0].timed("compute"):
            answers = run_first(self.refresher.spark, jobs, f"refresh {', '.join(a.name for a in attempts)}")
        for i, attempt in enumerate(attempts):
            answer = answers[i]
            attempt.phases["compute"] = attempts[0].phases["compute"]
            if answer.outcome == "overflow":
                attempt.gear = "second"
            elif answer.outcome == "failed":
                attempt.error = InternalError(f"{attempt.name} could not be computed", detail=answer.message)
            else:
                attempt.rows, attempt.rows_in = answer.rows, answer.rows_in

    def _second(self, attempt: Attempt) -> None:
        program, refresher = attempt.compiled.program, self.refresher
        assert program is not None
        run_id, table = str(attempt.refresh_id), program.target.staged
        with attempt.timed("compute"):
            if attempt.mode == "FULL":
                job = full_job(0, attempt.name, program, attempt.inputs)
                attempt.staged = run_full(refresher.spark, job, refresher.dsn, table, run_id)
            else:
                job = delta_job(0, attempt.name, program, attempt.inputs, 0)
                attempt.staged = run_second(refresher.spark, job, refresher.dsn, table, run_id)

    def _evaluate(self, attempt: Attempt) -> None:
        with attempt.timed("compute"):
            evaluate(self.refresher.connection("full"), attempt, self.reader.exported)

    def _guard(self, attempt: Attempt, step: Callable[[Attempt], None]) -> None:
        try:
            step(attempt)
        except Exception as error:
            # the edge of one stream table's refresh: the others go on
            attempt.error = as_runnel_error(error)

    # finishing

    def _finish(self, attempt: Attempt) -> None:
        reached("after-staging")
        if attempt.error is None:
            self._guard(attempt, self._apply)
        if attempt.error is not None:
            self._fail(attempt)
            return
        assert attempt.number is not None
        self.numbers[attempt.state.pgt_id] = attempt.number
        self.outcomes.append(outcome_of(attempt))

    def _apply(self, attempt: Attempt) -> None:
        with attempt.timed("apply"):
            applying.apply(
                self.refresher.connection("apply"), attempt, self.refresher.options.lock_timeout_ms
            )

    def _fail(self, attempt: Attempt) -> None:
        """A failure is history; what will not pass by itself also shows in the stream table's status."""
        assert attempt.error is not None
        conn = self.refresher.connection("control")
        table = attempt.state
        if not isinstance(attempt.error, TransientError) and table.reason != str(attempt.error):
            with conn.transaction():
                status = "suspended" if isinstance(attempt.error, SchemaError) else "error"
                client.record_failure(conn, table.pgt_id, status=status, reason=str(attempt.error))
                applying.record(conn, attempt)
        self.outcomes.append(outcome_of(attempt))


def as_runnel_error(error: Exception) -> RunnelError:
    """Any failure as one of the tree: what PostgreSQL says of the user's data is the user's to read."""
    if isinstance(error, RunnelError):
        return error
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, psycopg.OperationalError):
        return TransientError("PostgreSQL broke off", detail=first)
    return InternalError(first, detail=type(error).__name__)
