"""Running the statements of a command and reading what DuckDB says of them."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import duckdb

from runnel.playbook.ducklake.dialect import Statement, Translation
from runnel.playbook.ducklake.outcome import CommandResult
from runnel.playbook.ducklake.pool import Session

T = TypeVar("T")

_ATTEMPTS = 12
_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 0.5
_HINTS = {
    "RETURNING clause": "a lake returns no rows from INSERT: add a SELECT as the next statement",
    "ON CONFLICT": "a lake has no keys to conflict: use MERGE INTO",
    "UNIQUE/PRIMARY KEY constraints": "a lake has no keys to conflict: use MERGE INTO",
    "already exists": "write IF NOT EXISTS where the command may run again",
    "No snapshot found": "the snapshot was never made or has expired: see ducklake_snapshots",
}


def is_conflict(error: duckdb.Error) -> bool:
    """Another transaction was first: the whole command can be tried again."""
    text = str(error)
    return isinstance(error, duckdb.TransactionException | duckdb.IOException) and (
        "Transaction conflict" in text or "could not serialize" in text or "deadlock detected" in text
    )


def again_on_conflict(work: Callable[[], T]) -> T:
    pause = _FIRST_PAUSE
    for _ in range(_ATTEMPTS - 1):
        try:
            return work()
        except duckdb.Error as error:
            if not is_conflict(error):
                raise
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(pause * 2, _LONGEST_PAUSE)
    return work()


def run_command(session: Session, command: Translation, about: str) -> CommandResult:
    """One command, all of it or nothing; `about` is the message of the snapshot that it makes."""
    reads_only = all(statement.reads_only for statement in command.statements)
    if reads_only or not all(statement.atomic for statement in command.statements):
        return _alone(session, command)
    return again_on_conflict(lambda: session.transact(lambda: _run_all(session, command), about))


def _alone(session: Session, command: Translation) -> CommandResult:
    """Statements that only read, or that cannot be in our transaction (or have their own)."""
    try:
        return _run_all(session, command)
    except duckdb.Error:
        session.roll_back()
        raise


def _run_all(session: Session, command: Translation) -> CommandResult:
    return together([run(session, each) for each in command.statements], command.warnings)


def run(session: Session, statement: Statement) -> CommandResult:
    cursor = session.cursor
    cursor.execute(statement.sql)
    if not cursor.description:
        return CommandResult(affected_rows=0)
    names = tuple(column[0] for column in cursor.description)
    rows = cursor.fetchall()
    if statement.kind not in ("SELECT", "EXPLAIN", "CALL") and names in (("Count",), ("Success",)):
        return CommandResult(affected_rows=int(rows[0][0]) if rows and names == ("Count",) else 0)
    columns = unique(names)
    return CommandResult(tuple(dict(zip(columns, row, strict=True)) for row in rows), columns)


def together(results: Iterable[CommandResult], warnings: tuple[str, ...] = ()) -> CommandResult:
    """One entry for a command: the rows of its last query, and all the rows that it wrote."""
    rows: tuple[Mapping[str, object], ...] | None = None
    columns: tuple[str, ...] = ()
    affected: int | None = None
    for result in results:
        if result.rows is not None:
            rows, columns = result.rows, result.columns
        if result.affected_rows is not None:
            affected = (affected or 0) + result.affected_rows
    if rows is None and affected is None:
        affected = 0
    return CommandResult(rows, columns, affected, warnings)


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """Column names as keys of a row: the second `a` becomes `a_1`, as DuckDB's own data frames have it."""
    return tuple(_numbered(names))


def _numbered(names: Sequence[str]) -> Iterable[str]:
    seen: set[str] = set()
    for name in names:
        number, key = 0, name
        while key in seen:
            number += 1
            key = f"{name}_{number}"
        seen.add(key)
        yield key


def first_line(error: BaseException) -> str:
    """DuckDB's message without the kind in front and the picture of the statement behind it."""
    text = str(error).split("\n\nLINE ")[0].strip()
    return re.sub(r"^\w[\w ]* Error: ", "", " ".join(text.split()))


def hint_for(error: BaseException) -> str | None:
    text = str(error)
    return next((hint for part, hint in _HINTS.items() if part in text), None)
