"""One partition of a loop, run in a Spark worker: its items in as few commits as are right."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import duckdb
import psycopg

from runnel.playbook.ducklake.commands import (
    again_on_conflict,
    first_line,
    hint_for,
    is_conflict,
    run,
    run_command,
    together,
)
from runnel.playbook.ducklake.dialect import Translation
from runnel.playbook.ducklake.items import Item, Prepared, coalesced, groups, prepare
from runnel.playbook.ducklake.lake import Lake
from runnel.playbook.ducklake.ledger import Ledger
from runnel.playbook.ducklake.outcome import CommandResult, ItemOutcome
from runnel.playbook.ducklake.pool import Session, session, worker_id
from runnel.playbook.ducklake.snapshots import clamp_of
from runnel.playbook.secrets import hide

Written = dict[int, tuple[int | None, ...]]
Results = list[list[CommandResult]]


@dataclass(frozen=True, slots=True)
class Work:
    """All of a loop that its workers need."""

    lake: Lake
    items: tuple[Item, ...]
    ordered: bool
    ledger: Ledger
    step: str
    execution_id: str

    def share(self, partition: int, partitions: int) -> tuple[Item, ...]:
        return self.items[partition::partitions]


def run_share(work: Work, partition: int, partitions: int) -> list[ItemOutcome]:
    """The items of one partition; a failing item fails alone, or ends the loop where order counts."""
    outcomes: list[ItemOutcome] = []
    items = work.share(partition, partitions)
    try:
        variables = {"execution_id": work.execution_id, "step": work.step}
        with session(work.lake, variables) as lake, work.ledger.turn(lake, partition):
            for outcome in _Share(work, lake).run(items):
                outcomes.append(outcome)
                if work.ordered and not outcome.ok:
                    break
    except (duckdb.Error, psycopg.Error) as error:
        # The lake itself is out of reach: every item that has no outcome fails with the same words.
        done = {outcome.index for outcome in outcomes}
        rest = [item.index for item in items if item.index not in done]
        outcomes += [_failed(work.lake, index, error, 0.0) for index in rest]
    return outcomes


@dataclass(frozen=True, slots=True)
class _Share:
    work: Work
    lake: Session

    def run(self, items: Sequence[Item]) -> Iterator[ItemOutcome]:
        written = self.work.ledger.written(self.lake)
        prepared: list[Prepared] = []
        for item in items:
            try:
                prepared.append(prepare(item, clamp_of(self.lake)))
            except duckdb.Error as error:
                if self.work.ordered:
                    yield from self._groups(prepared, written)
                    prepared = []
                yield _failed(self.work.lake, item.index, error, 0.0)
        yield from self._groups(prepared, written)

    def _groups(self, items: Sequence[Prepared], written: Written) -> Iterator[ItemOutcome]:
        for item in items:
            if item.index in written and not self.work.ordered:
                yield self._repeated(item, written[item.index])
        waiting = items if self.work.ordered else [item for item in items if item.index not in written]
        for group in groups(waiting, self.work.ordered):
            if group[0].index in written:
                yield self._repeated(group[0], written[group[0].index])
            else:
                yield from self._attempt(group)

    def _attempt(self, group: Sequence[Prepared]) -> Iterator[ItemOutcome]:
        """The group in one transaction; when it fails, its halves, down to the item that cannot be done."""
        begun = time.perf_counter()
        try:
            results = self._commit(group)
        except duckdb.Error as error:
            yield from self._after_failure(group, error, begun)
            return
        seconds = time.perf_counter() - begun
        for item, commands in zip(group, results, strict=True):
            yield ItemOutcome(item.index, worker_id(), seconds, tuple(commands))

    def _after_failure(
        self, group: Sequence[Prepared], error: duckdb.Error, begun: float
    ) -> Iterator[ItemOutcome]:
        written = {} if is_conflict(error) else self.work.ledger.written(self.lake)
        if group[0].index in written:  # the connection broke after the commit had been done
            yield from (self._repeated(item, written[item.index]) for item in group)
        elif len(group) > 1:
            half = len(group) // 2
            yield from self._attempt(group[:half])
            yield from self._attempt(group[half:])
        else:
            yield _failed(self.work.lake, group[0].index, error, time.perf_counter() - begun)

    def _commit(self, group: Sequence[Prepared]) -> Results:
        item = group[0]
        if len(group) == 1 and (item.reads_only or not item.atomic):
            return [[run_command(self.lake, command, self._message) for command in item.commands]]
        return again_on_conflict(
            lambda: self.lake.transact(
                lambda: self._results(group), self._message, partial(self._entry, group)
            )
        )

    @property
    def _message(self) -> str:
        return self.work.step

    def _entry(self, group: Sequence[Prepared], results: Results) -> str:
        counts = {
            item.index: [each.affected_rows for each in of] for item, of in zip(group, results, strict=True)
        }
        return self.work.ledger.entry(counts)

    def _results(self, group: Sequence[Prepared]) -> Results:
        statement = coalesced(group)
        if statement is None:
            return [[self._command(command) for command in item.commands] for item in group]
        run(self.lake, statement)
        return [_one_insert(item) for item in group]

    def _command(self, command: Translation) -> CommandResult:
        return together([run(self.lake, each) for each in command.statements], command.warnings)

    def _repeated(self, item: Prepared, counts: Sequence[int | None]) -> ItemOutcome:
        """What an earlier attempt has written stays; what only reads is read again."""
        begun = time.perf_counter()
        commands = []
        for command, affected in zip(item.commands, counts, strict=True):
            reads = [run(self.lake, each) for each in command.statements if each.reads_only]
            commands.append(replace(together(reads, command.warnings), affected_rows=affected))
        return ItemOutcome(
            item.index, worker_id(), time.perf_counter() - begun, tuple(commands), repeated=True
        )


def _one_insert(item: Prepared) -> list[CommandResult]:
    """An item whose row went in with others': each of its commands as it would have answered alone."""
    count = item.values.count if item.values else 0
    return [CommandResult(affected_rows=count if each.statements else 0) for each in item.commands]


def _failed(lake: Lake, index: int, error: Exception, seconds: float) -> ItemOutcome:
    text = hide(first_line(error), lake.conninfo)
    hint = hint_for(error)
    return ItemOutcome(index, worker_id(), seconds, error=f"{text} (hint: {hint})" if hint else text)
