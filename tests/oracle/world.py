"""Runs random histories against real servers, several side by side, and lets PostgreSQL judge after each refresh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from tests.oracle.coverage import Coverage
from tests.oracle.equality import difference
from tests.oracle.histories import History
from tests.oracle.queries import StreamQuery
from tests.oracle.tables import SESSIONS, Action

from runnel.refresh.model import Options, Outcome
from runnel.refresh.round import Refresher

# One session's lock is never released while another waits for it: all run in one thread.
_SETTINGS = "-c lock_timeout=5ms -c timezone=Europe/Berlin -c client_min_messages=error"


@dataclass(frozen=True, slots=True)
class Failure:
    """A stream table that is not its query, or could not be refreshed."""

    history: History
    stream: str
    step: int
    what: str

    def __str__(self) -> str:
        return f"history {self.history.seed}, {self.stream}, after step {self.step}:\n{self.what}"


@dataclass(slots=True)
class Running:
    """A history in its own schema, with its sessions."""

    history: History
    schema: str
    judge: psycopg.Connection[Any]
    sessions: list[psycopg.Connection[Any]]
    saved: set[int] = field(default_factory=set)
    truncating: set[int] = field(default_factory=set)
    ids: dict[str, int] = field(default_factory=dict)
    pending: dict[str, set[str]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def create(self) -> None:
        self.judge.execute(f'CREATE SCHEMA "{self.schema}"'.encode())
        for table in self.history.tables:
            self.judge.execute(table.ddl.encode())
        for statement in self.history.filled:
            self.judge.execute(statement.encode())
        for query in self.history.queries:
            self.judge.execute("SELECT pgtrickle.create_stream_table(%s, %s)", [query.name, query.sql])
            row = self.judge.execute(
                "SELECT pgt_id FROM pgtrickle.pgt_stream_tables WHERE relid = %s::regclass", [query.name]
            ).fetchone()
            assert row is not None
            self.ids[query.name] = row[0]
            self.pending[query.name] = set()

    # what sessions do

    def act(self, step: int) -> None:
        for action in self.history.steps[step].actions:
            try:
                self._act(action)
            except psycopg.Error as error:
                self.log.append(f"-- session {action.session}: {str(error).splitlines()[0]}")
                self._recover(action.session)
        for number in list(self.truncating):
            # A reader waits for whoever has truncated; in one thread that would be for ever.
            self._control(number, "COMMIT")

    def _act(self, action: Action) -> None:
        session = self.sessions[action.session]
        if not action.table:
            self._control(action.session, action.sql)
            return
        self.log.append(f"/* {action.session} */ {action.sql};")
        if action.copied is not None:
            self._copy(session, action.sql, action.copied)
        else:
            session.execute(action.sql.encode())
        if action.kind == "truncate" and session.info.transaction_status != TransactionStatus.IDLE:
            self.truncating.add(action.session)
        for name in self.pending:
            if action.table in self.history.bases(name):
                self.pending[name].add(action.kind)

    def _copy(self, session: psycopg.Connection[Any], statement: str, rows: str) -> None:
        found = session.execute(rows.encode()).fetchall()
        with session.cursor().copy(statement.encode()) as copy:
            for row in session.execute(rows.encode()).fetchall() if found is None else found:
                copy.write_row(row)

    def _control(self, number: int, statement: str) -> None:
        session = self.sessions[number]
        idle = session.info.transaction_status == TransactionStatus.IDLE
        match statement:
            case "BEGIN" if idle:
                level = " ISOLATION LEVEL REPEATABLE READ" if number == 2 else ""
                self._say(number, f"BEGIN{level}")
            case "SAVEPOINT" if not idle:
                self._say(number, "SAVEPOINT a")
                self.saved.add(number)
            case "ROLLBACK TO" if number in self.saved:
                self._say(number, "ROLLBACK TO SAVEPOINT a")
            case "COMMIT" | "ROLLBACK" if not idle:
                self._say(number, statement)
                self.saved.discard(number)
                self.truncating.discard(number)

    def _say(self, number: int, statement: str) -> None:
        self.log.append(f"/* {number} */ {statement};")
        self.sessions[number].execute(statement.encode())

    def _recover(self, number: int) -> None:
        """After an error: back to the savepoint, or out of the transaction."""
        if self.sessions[number].info.transaction_status == TransactionStatus.INERROR:
            self._control(number, "ROLLBACK TO" if number in self.saved else "ROLLBACK")

    # judging

    def judged(self, step: int) -> Iterator[Failure]:
        """The refreshed stream tables that are not what PostgreSQL says."""
        for query in self.history.queries:
            if query.name in self.refreshed(step):
                what = self.differs(query)
                if what:
                    yield Failure(self.history, query.name, step, f"{query.sql}\n{what}")

    def differs(self, query: StreamQuery) -> str:
        found = difference(self.judge, sql.Identifier(self.schema, query.name), sql.SQL(query.sql))  # type: ignore[arg-type]
        return str(found) if found else ""

    def refreshed(self, step: int) -> tuple[str, ...]:
        names = tuple(query.name for query in self.history.queries)
        return names if step < 0 else self.history.steps[step].refreshed

    def script(self) -> str:
        """All of it as SQL, as far as it has run."""
        made = [f"{table.ddl};" for table in self.history.tables] + [f"{sql};" for sql in self.history.filled]
        made += [
            f"SELECT pgtrickle.create_stream_table('{q.name}', $q${q.sql}$q$);" for q in self.history.queries
        ]
        return "\n".join([*made, *self.log])


@dataclass(slots=True)
class World:
    """A database with the API and an engine, in which histories run side by side, each in its schema."""

    dsn: str
    refresher: Refresher
    coverage: Coverage = field(default_factory=Coverage)
    _made: int = 0

    def run(self, histories: Sequence[History]) -> list[Failure]:
        """The failures; a history that has failed goes no further."""
        with self._started(histories) as running:
            failures = self._fill(running)
            for step in range(max(len(h.steps) for h in histories)):
                failed = {id(failure.history) for failure in failures}
                going = [r for r in running if id(r.history) not in failed and step < len(r.history.steps)]
                for one in going:
                    one.act(step)
                failures += self._round(going, step)
            for one in running:
                failures += self._ran_full(one)
        self.coverage.histories[str(self.refresher.options.gear or "first")] += len(histories)
        return failures

    @contextmanager
    def _started(self, histories: Sequence[History]) -> Iterator[list[Running]]:
        opened: list[psycopg.Connection[Any]] = []
        try:
            running = []
            for history in histories:
                self._made += 1
                schema = f"h{self._made}"
                mine = [self._connect(schema) for _ in range(SESSIONS + 1)]
                opened += mine
                running.append(Running(history, schema, mine[0], mine[1:]))
                running[-1].create()
            yield running
        finally:
            for conn in opened:
                conn.close()

    def _connect(self, schema: str) -> psycopg.Connection[Any]:
        options = f"{_SETTINGS} -c search_path={schema}"
        return psycopg.connect(self.dsn, autocommit=True, options=options)

    def _fill(self, running: Sequence[Running]) -> list[Failure]:
        """In first gear whatever is forced afterwards: fills are not what a history is about."""
        options, self.refresher.options = self.refresher.options, Options()
        try:
            return self._round(running, -1)
        finally:
            self.refresher.options = options

    def _round(self, running: Sequence[Running], step: int) -> list[Failure]:
        for one in running:
            one.log.append(f"-- refresh {', '.join(one.refreshed(step))}")
        wanted = [one.ids[name] for one in running for name in one.refreshed(step)]
        outcomes = {outcome.pgt_id: outcome for outcome in self.refresher.refresh(wanted)}
        failures: list[Failure] = []
        for one in running:
            found = list(self._outcomes(one, outcomes, step)) or list(one.judged(step))
            failures += [Failure(f.history, f.stream, f.step, f"{f.what}\n{one.script()}") for f in found]
        return failures

    def _outcomes(self, one: Running, outcomes: dict[int, Outcome], step: int) -> Iterator[Failure]:
        """Errors; and what was covered by the refreshes that did something."""
        for query in one.history.queries:
            outcome = outcomes.get(one.ids[query.name])
            if outcome is None:
                continue
            if outcome.error is not None:
                text = (
                    f"{query.sql}\n{type(outcome.error).__name__}: {outcome.error} ({outcome.error.detail})"
                )
                yield Failure(one.history, query.name, step, text)
            if outcome.refreshed:
                kinds = sorted(one.pending[query.name])
                self.coverage.note(
                    sorted(query.operators),
                    sorted(query.types),
                    kinds,
                    outcome.gear or "none",
                    outcome.mode or "",
                )
                one.pending[query.name].clear()

    def _ran_full(self, one: Running) -> Iterator[Failure]:
        """What compiles runs FULL only to be filled, or because a source was truncated."""
        rows = one.judge.execute(
            "SELECT t.pgt_id, coalesce(t.reason, h.reason, 'no reason') FROM pgtrickle.pgt_stream_tables AS t"
            " JOIN pgtrickle.pgt_refresh_history AS h USING (pgt_id) WHERE t.pgt_id = ANY(%s) AND h.mode = 'FULL'"
            " AND h.reason NOT IN ('first fill', 'a source was truncated')",
            [list(one.ids.values())],
        ).fetchall()
        names = {number: name for name, number in one.ids.items()}
        queries = {query.name: query for query in one.history.queries}
        for number, reason in rows:
            yield Failure(one.history, names[number], -1, f"ran FULL: {reason}\n{queries[names[number]].sql}")
