"""Replacing content by its difference: readers are never blocked, and subscribers get an exact delta.

The rows that are no more are deleted, then those that are missing are inserted, as multisets of their whole
text. One statement each, because a key freed by the first must be free for the second.
"""

from __future__ import annotations

from runnel.delta.program import Statement, Target, columns, positions
from runnel.delta.result import log_rows, renamed
from runnel.delta.text import with_query


def replace_content(target: Target, content: str) -> list[Statement]:
    """The statements that make the result equal to the query `content`, whose columns are c1, c2, …"""
    return [Statement("result", _delete(target, content)), Statement("result", _insert(target, content))]


def _delete(target: Target, content: str) -> str:
    present = f"SELECT ctid AS at, {renamed(target, '')} FROM {target.result}"
    ctes = [
        ("wanted", f"SELECT q::text AS t, count(*) AS n FROM ({content}) AS q GROUP BY 1"),
        ("present", _numbered(target, present)),
        (
            "extra",
            "SELECT p.* FROM present AS p LEFT JOIN wanted AS q USING (t) WHERE p.i > coalesce(q.n, 0)",
        ),
        ("gone", f"DELETE FROM {target.result} AS r USING extra AS e WHERE r.ctid = e.at"),
        ("log", log_rows(target, f"SELECT -1 AS w, {positions(target)} FROM extra")),
    ]
    return with_query(ctes, "SELECT (SELECT count(*) FROM extra) AS minus, 0::bigint AS plus")


def _insert(target: Target, content: str) -> str:
    names = positions(target)
    present = f"SELECT {renamed(target, '')} FROM {target.result}"
    ctes = [
        ("present", f"SELECT q::text AS t, count(*) AS n FROM ({present}) AS q GROUP BY 1"),
        ("wanted", _numbered(target, f"SELECT NULL::tid AS at, q.* FROM ({content}) AS q")),
        (
            "missing",
            f"SELECT {names} FROM wanted LEFT JOIN present AS p USING (t) WHERE i > coalesce(p.n, 0)",
        ),
        ("new", f"INSERT INTO {target.result} ({columns(target)}) SELECT {names} FROM missing"),
        ("log", log_rows(target, f"SELECT 1 AS w, {names} FROM missing")),
    ]
    return with_query(ctes, "SELECT 0::bigint AS minus, (SELECT count(*) FROM missing) AS plus")


def _numbered(target: Target, rows: str) -> str:
    """Each row with its text and its number among the rows of the same text."""
    names = positions(target, "c.")
    return (
        f"SELECT c.at, {names}, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM ({rows}) AS c"
        f" CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT {names}) AS q) AS z"
    )
