"""The apply: one transaction that fences itself and writes everything that a refresh changes, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from runnel.catalog import client
from runnel.catalog.client import StreamTable
from runnel.catalog.connection import Connection
from runnel.delta import Gear, Statement, replace_content
from runnel.delta.program import NUMBER, STAGED
from runnel.errors import InternalError, SchemaError, TransientError
from runnel.points import reached
from runnel.refresh.arrays import array_literal
from runnel.refresh.model import Attempt

_FENCE = """
UPDATE pgtrickle.pgt_stream_tables
SET refresh_number = refresh_number + 1, frontier = %(frontier)s::pg_snapshot, refreshed_at = %(at)s,
    is_populated = true, status = 'active', effective_mode = %(mode)s, reason = %(reason)s
WHERE pgt_id = %(id)s AND generation = %(generation)s AND refresh_number = %(number)s
  AND status <> 'suspended'
RETURNING refresh_number
"""
_HISTORY = """
INSERT INTO pgtrickle.pgt_refresh_history
    (refresh_id, pgt_id, refresh_number, status, mode, gear, reason, error, frontier, rows_in, rows_out, phases,
     started_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s::pg_snapshot, %s, %s, %s, %s)
"""


def apply(conn: Connection, attempt: Attempt, lock_timeout_ms: int) -> None:
    """Runs the attempt's apply; on return it is committed."""
    with _transaction(conn, attempt):
        conn.execute(f"SET LOCAL lock_timeout = {lock_timeout_ms}".encode())
        enter_settings(conn, attempt.table, small=attempt.gear == "first")
        _lock_result(conn, attempt)
        attempt.number = _fence(conn, attempt)
        attempt.rows_out = run_statements(conn, attempt)
        _advance(conn, attempt)
        record(conn, attempt)
        reached("before-commit")
    reached("after-commit")


def _lock_result(conn: Connection, attempt: Attempt) -> None:
    """Nobody puts a trigger or an index of his own on the result while we write it; readers do not notice."""
    conn.execute(f"LOCK TABLE {attempt.compiled.target.result} IN ROW EXCLUSIVE MODE".encode())
    problem = client.check_result(conn, attempt.table.pgt_id)
    if problem:
        raise SchemaError(f"{attempt.name} cannot be written: {problem}")


@contextmanager
def _transaction(conn: Connection, attempt: Attempt) -> Iterator[None]:
    """READ COMMITTED; what may pass by itself is told apart from what will not."""
    try:
        with conn.transaction():
            yield
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected) as error:
        attempt.number = None
        raise TransientError(
            f"{attempt.name} is locked by someone else", detail=str(error).splitlines()[0]
        ) from error
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
        attempt.number = None
        raise TransientError(
            f"{attempt.name} was altered or dropped meanwhile", detail=str(error).splitlines()[0]
        ) from error
    except BaseException:
        attempt.number = None
        raise


def enter_settings(conn: Connection, table: StreamTable, *, small: bool) -> None:
    """The session settings of the stream table's creation, and a fixed path: our text is qualified."""
    settings = {**table.settings, "search_path": "pg_catalog", "jit": "off"}
    if small:
        # A delta is small: indexes, whatever the planner believes of tables that it has not analysed.
        settings["enable_seqscan"] = "off"
    calls = ", ".join(["set_config(%s, %s, true)"] * len(settings))
    conn.execute(f"SELECT {calls}".encode(), [text for pair in settings.items() for text in pair])


def _fence(conn: Connection, attempt: Attempt) -> int:
    state = attempt.table
    row = conn.execute(
        _FENCE,
        {
            "frontier": attempt.frontier,
            "at": attempt.started_at,
            "mode": "FULL" if attempt.compiled.reason else "DIFFERENTIAL",
            "reason": attempt.compiled.reason,
            "id": state.pgt_id,
            "generation": state.generation,
            "number": state.refresh_number,
        },
    ).fetchall()
    if len(row) != 1:
        raise TransientError(f"{attempt.name} was refreshed, altered or paused by someone else meanwhile")
    return int(row[0][0])


def run_statements(conn: Connection, attempt: Attempt) -> int:
    """The program's apply statements with the staged rows; the rows that the result lost and gained."""
    changed = 0
    for sql, parameters in statements(attempt):
        cursor = psycopg.RawCursor(conn)
        cursor.execute(sql.encode(), parameters)
        if cursor.description is None:
            continue
        names = [column.name for column in cursor.description]
        found = dict(zip(names, cursor.fetchone() or (), strict=False))
        if found.get("negative"):
            raise InternalError(
                f"the state of {attempt.name} does not fit its delta: {found['negative']} rows too few",
                hint="refresh it in full: pgtrickle.refresh_stream_table(name, full => true)",
            )
        changed += found.get("minus", 0) + found.get("plus", 0)
    if attempt.staged is not None:
        conn.execute(
            f"DELETE FROM {attempt.compiled.target.staged} WHERE tag = ANY(%s)".encode(),
            [attempt.staged.tags],
        )
    return changed


def statements(attempt: Attempt) -> Iterator[tuple[str, list[Any]]]:
    """The statements with the parameters that they use."""
    program = attempt.compiled.program
    if attempt.content is not None:
        for statement in replace_content(attempt.compiled.target, f"SELECT * FROM {attempt.content}"):
            yield statement.sql.replace(NUMBER, "$1::bigint"), _used(statement, [], attempt.number)
        yield f"DROP TABLE {attempt.content}", []
        return
    assert program is not None
    gear: Gear = "second" if attempt.staged is not None else "first"
    parts = program.apply_full if attempt.mode == "FULL" else program.apply_delta
    staged = _staged(attempt)
    for statement in parts:
        yield program.render(statement, gear), _used(statement, staged, attempt.number)


def _staged(attempt: Attempt) -> list[Any]:
    if attempt.staged is not None:
        return [attempt.staged.tags]
    assert attempt.rows is not None
    return [array_literal(column) for column in attempt.rows.columns]


def _used(statement: Statement, staged: list[Any], number: int | None) -> list[Any]:
    """PostgreSQL wants no parameter that the text does not name."""
    parameters = list(staged) if STAGED in statement.sql else []
    return [*parameters, number] if NUMBER in statement.sql else parameters


def _advance(conn: Connection, attempt: Attempt) -> None:
    for relid, version in attempt.consumed.items():
        conn.execute(
            "UPDATE pgtrickle.pgt_dependencies SET consumed = %s WHERE pgt_id = %s AND relid = %s",
            [version, attempt.table.pgt_id, relid],
        )


def record(conn: Connection, attempt: Attempt) -> None:
    """The attempt's row of history."""
    conn.execute(
        _HISTORY,
        [
            attempt.refresh_id,
            attempt.table.pgt_id,
            attempt.number,
            "failed" if attempt.error else "completed",
            attempt.mode,
            attempt.gear,
            attempt.reason,
            str(attempt.error) if attempt.error else None,
            attempt.frontier or None,
            attempt.rows_in,
            attempt.rows_out,
            Jsonb({phase: round(ms, 3) for phase, ms in attempt.phases.items()}),
            attempt.started_at,
        ],
    )
