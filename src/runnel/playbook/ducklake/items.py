"""The items of a loop as their worker plans them: which go into one statement, which into one transaction.

Every commit takes the lake's next snapshot, one after the other over all workers, so what 100 one-row items
cost is the number of their commits. Items that only differ in their VALUES become one INSERT; other small
writes share a transaction; what may be large keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from runnel.playbook.ducklake.dialect import Clamp, Statement, Translation, translate
from runnel.playbook.ducklake.tokens import closing, tokens_of

_ROWS_TOGETHER = 500
_ITEMS_TOGETHER = 20


@dataclass(frozen=True, slots=True)
class Item:
    """One element of a loop with its commands, rendered."""

    index: int
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """An INSERT … VALUES cut before its rows."""

    prefix: str
    rows: str
    count: int


@dataclass(frozen=True, slots=True)
class Prepared:
    index: int
    commands: tuple[Translation, ...]
    values: Values | None

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(each for command in self.commands for each in command.statements)

    @property
    def reads_only(self) -> bool:
        return all(statement.reads_only for statement in self.statements)

    @property
    def atomic(self) -> bool:
        return all(statement.atomic for statement in self.statements)

    @property
    def light(self) -> bool:
        """Small by its text alone: rows written out, or a change of rows that are there."""
        return self.values is not None or (
            bool(self.statements) and all(each.kind in ("UPDATE", "DELETE") for each in self.statements)
        )


def prepare(item: Item, clamp: Clamp) -> Prepared:
    commands = tuple(translate(command, clamp) for command in item.commands)
    statements = [each for command in commands for each in command.statements]
    values = values_of(statements[0].sql) if len(statements) == 1 and statements[0].kind == "INSERT" else None
    return Prepared(item.index, commands, values)


def values_of(sql: str) -> Values | None:
    """The parts of `INSERT INTO … VALUES (…), (…)`; None for any other INSERT.

    A row with a query in it is not cut: it would no longer see the rows of the items before it.
    """
    tokens = tokens_of(sql)
    words = [token.word for token in tokens]
    if words[:2] != ["INSERT", "INTO"] or "VALUES" not in words or {"SELECT", "FROM", "TABLE"} & set(words):
        return None
    at = words.index("VALUES")
    prefix = " ".join(token.text for token in tokens[: at + 1])
    count, at = 0, at + 1
    while at < len(tokens) and tokens[at].text == "(":
        count += 1
        at = closing(tokens, at) + 1
        if at == len(tokens):
            start, end = tokens[words.index("VALUES")].end, tokens[-1].end
            return Values(prefix, sql[start:end].strip(), count)
        if tokens[at].text != ",":
            return None
        at += 1
    return None


def groups(items: Sequence[Prepared], ordered: bool) -> Iterator[tuple[Prepared, ...]]:
    """The items in their order, cut into transactions."""
    if ordered:
        yield from ((item,) for item in items)
        return
    for kind, run in groupby(items, key=lambda item: item.values.prefix if item.values else item.light):
        members = tuple(run)
        size = _ROWS_TOGETHER if isinstance(kind, str) else _ITEMS_TOGETHER if kind else 1
        yield from (members[at : at + size] for at in range(0, len(members), size))


def coalesced(group: Sequence[Prepared]) -> Statement | None:
    """One INSERT for the whole group, where all of it goes into one table in the same way."""
    values = [item.values for item in group if item.values]
    if len(values) != len(group) or len(group) < 2 or len({each.prefix for each in values}) != 1:
        return None
    return Statement(f"{values[0].prefix} {', '.join(each.rows for each in values)}", "INSERT")
