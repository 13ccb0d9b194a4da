"""What has no rule yet is named with its place in the user's text: FULL under AUTO, an error under DIFFERENTIAL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from runnel.catalog import client
from runnel.catalog.client import StreamTable
from runnel.errors import UserError
from runnel.refresh.compiled import Programs

_TABLES = """
    CREATE SCHEMA refused; SET search_path = refused;
    CREATE TABLE a (id int PRIMARY KEY, k int, g text, x numeric, f float8, j jsonb, c char(3), d date,
                    ts timestamptz, german text COLLATE "C");
    CREATE TABLE b (id int PRIMARY KEY, k int, y text)
"""
REFUSED = {
    "SELECT DISTINCT g FROM a": ("DISTINCT", "line 1, column 8"),
    "SELECT g\nFROM a\nORDER BY g\nLIMIT 3": ("LIMIT", "line 4, column 1"),
    "SELECT g FROM a OFFSET 2": ("OFFSET", "line 1, column 17"),
    "SELECT g FROM a UNION ALL SELECT y FROM b": ("a set operation", "line 1, column 17"),
    "WITH q AS (SELECT g FROM a) SELECT g FROM q": ("a WITH clause", "line 1, column 1"),
    "SELECT g FROM (SELECT g FROM a) AS q": ("a subquery in FROM", "line 1, column 10"),
    "SELECT a.g FROM a LEFT JOIN b ON a.k = b.k": ("a LEFT JOIN", "line 1, column 19"),
    "SELECT a.g FROM a\n  FULL JOIN b ON a.k = b.k": ("a FULL JOIN", "line 2, column 3"),
    "SELECT a.g FROM a JOIN b ON a.k < b.k": (
        "a join without an equality of one plain type",
        "line 1, column 19",
    ),
    "SELECT a.g FROM a, b": ("a join without an equality of one plain type", None),
    "SELECT a.g FROM a JOIN b ON a.k = b.k JOIN b AS c ON c.k = a.k": (
        "a join of 3 sources",
        "line 1, column 19",
    ),
    "SELECT g FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k)": (
        "a subquery in an expression",
        "line 1, column 23",
    ),
    "SELECT g, row_number() OVER (ORDER BY id) AS n FROM a": (
        "the window function row_number()",
        "line 1, column 24",
    ),
    "SELECT g, string_agg(g, ',') AS s FROM a GROUP BY g": (
        "the aggregate string_agg()",
        "line 1, column 11",
    ),
    "SELECT g, sum(DISTINCT x) AS s FROM a GROUP BY g": ("sum(DISTINCT)", "line 1, column 11"),
    "SELECT g, sum(f) AS s FROM a GROUP BY g": ("sum(double precision)", "line 1, column 11"),
    "SELECT g, count(*) AS n FROM a GROUP BY GROUPING SETS ((g), ())": (
        "a grouping set",
        "line 1, column 32",
    ),
    "SELECT j FROM a": ("a column of type jsonb", None),
    "SELECT c, count(*) AS n FROM a GROUP BY c": ("a group key of type character(3)", None),
    "SELECT german FROM a": ("the collation of column german", "line 1, column 8"),
    "SELECT g FROM a WHERE g::date = d": ("a cast from text to date", None),
    "SELECT id FROM a WHERE ts > now()": ("the function now(), which is only STABLE,", "line 1, column 29"),
    "SELECT id FROM a WHERE d > current_date": ("the current date, time or role", "line 1, column 28"),
    "SELECT a FROM a": ("a whole-row reference", None),
}


@pytest.fixture(scope="module")
def conn(shared_db: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(shared_db, autocommit=True) as opened:
        opened.execute(_TABLES)
        yield opened


def _create(conn: psycopg.Connection[Any], query: str, mode: str) -> StreamTable:
    row = conn.execute("SELECT count(*) FROM pgtrickle.pgt_stream_tables").fetchone()
    assert row is not None
    conn.execute(
        "SELECT pgtrickle.create_stream_table(%s, %s, refresh_mode => %s)", [f"r{row[0]}", query, mode]
    )
    return client.load_stream_tables(conn)[-1]


@pytest.mark.parametrize("query", REFUSED)
def test_named_with_its_place(conn: psycopg.Connection[Any], query: str) -> None:
    construct, place = REFUSED[query]
    reason = Programs().get(conn, _create(conn, query, "AUTO")).reason
    assert reason is not None and reason.startswith(construct), reason
    assert place is None or reason.endswith(f"({place})"), reason


def test_an_error_under_differential(conn: psycopg.Connection[Any]) -> None:
    table = _create(conn, "SELECT DISTINCT g FROM a", "DIFFERENTIAL")
    with pytest.raises(
        UserError, match=r"cannot be maintained incrementally: DISTINCT .*\(line 1, column 8\)"
    ):
        Programs().get(conn, table)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT date_trunc('day', ts) AS day, count(*) AS n FROM a GROUP BY 1",
        "SELECT ts::date AS day, max(d) AS d FROM a GROUP BY ts::date",
        "SELECT a.g FROM a, b WHERE a.k = b.k",
        "SELECT a.g FROM a NATURAL JOIN b",
        "SELECT a.g FROM a JOIN b ON a.c = b.y",
        "SELECT upper(g) AS g, extract(year FROM ts) AS year FROM a WHERE g LIKE 'x%'",
        "SELECT sum(x) / count(*) AS mean, count(*) FILTER (WHERE k > 1) AS n FROM a",
    ],
)
def test_compiles(conn: psycopg.Connection[Any], query: str) -> None:
    assert Programs().get(conn, _create(conn, query, "AUTO")).reason is None
