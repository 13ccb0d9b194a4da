"""What *equal* means: the same multiset of rows, each column by its text.

Only a numeric of no declared scale compares by `=` (1.5 is 1.50), and only floats within 1e-9 relative.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

_NUMERIC, _FLOATS = 1700, frozenset({700, 701})

Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows that the query has and the stream table lacks, and the other way round."""

    missing: tuple[Row, ...]
    extra: tuple[Row, ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)

    def __str__(self) -> str:
        lines = [f"  missing {row}" for row in self.missing[:8]] + [
            f"  extra   {row}" for row in self.extra[:8]
        ]
        return "\n".join(lines)


def _short(row: Row) -> Row:
    return tuple(
        value if value is None or len(value) < 60 else f"{value[:50]}… ({len(value)})" for value in row
    )


def difference(conn: psycopg.Connection[Any], result: sql.Composable, query: sql.Composable) -> Difference:
    """How `result` (a relation) differs from `query` (a SELECT), both read now, by PostgreSQL."""
    fields, floats = _comparable(conn, query)
    wanted = _rows(conn, sql.SQL("({})").format(query), fields)
    present = _rows(conn, result, fields)
    if floats:
        return _apart(wanted, present, floats)
    missing, extra = Counter(wanted), Counter(present)
    return Difference(tuple((missing - extra).elements()), tuple((extra - missing).elements()))


def _comparable(
    conn: psycopg.Connection[Any], query: sql.Composable
) -> tuple[list[sql.Composable], list[int]]:
    """The text of each column by position, and the positions of floats."""
    cursor = conn.execute(sql.SQL("SELECT * FROM ({}) AS q LIMIT 0").format(query))
    fields: list[sql.Composable] = []
    floats = []
    for i, column in enumerate(cursor.description or ()):
        name = sql.Identifier(f"c{i}")
        undeclared = column.type_code == _NUMERIC and column.precision is None
        form = "trim_scale({})::text" if undeclared else "{}::text"
        fields.append(sql.SQL(form).format(name))
        if column.type_code in _FLOATS:
            floats.append(i)
    return fields, floats


def _rows(
    conn: psycopg.Connection[Any], relation: sql.Composable, fields: Sequence[sql.Composable]
) -> list[Row]:
    names = sql.SQL(", ").join(sql.Identifier(f"c{i}") for i in range(len(fields)))
    query = sql.SQL("SELECT {} FROM {} AS q({})").format(sql.SQL(", ").join(fields), relation, names)
    return conn.execute(query).fetchall()


def _apart(wanted: list[Row], present: list[Row], floats: list[int]) -> Difference:
    """Rows paired one by one where everything but floats is equal and these are close."""
    left = list(present)
    missing = []
    for row in wanted:
        found = next((other for other in left if _close(row, other, floats)), None)
        if found is None:
            missing.append(row)
        else:
            left.remove(found)
    return Difference(tuple(missing), tuple(left))


def _close(one: Row, other: Row, floats: list[int]) -> bool:
    for i, (a, b) in enumerate(zip(one, other, strict=True)):
        if a == b:
            continue
        if i not in floats or a is None or b is None:
            return False
        if not math.isclose(float(a), float(b), rel_tol=1e-9):
            return False
    return True
