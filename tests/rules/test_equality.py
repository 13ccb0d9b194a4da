"""The judge itself: what it takes for equal, and what it must not."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql
from tests.oracle.equality import Difference, difference


def _difference(dsn: str, result: str, query: str) -> Difference:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"CREATE TEMP TABLE judged AS {result}".encode())
        return difference(conn, sql.Identifier("judged"), sql.SQL(query))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("result", "query"),
    [
        ("SELECT 1.5::numeric AS x", "SELECT 1.50::numeric"),
        ("SELECT 'NaN'::numeric AS x", "SELECT 'NaN'::numeric"),
        ("SELECT 0.1::float8 + 0.2::float8 AS x", "SELECT 0.3::float8"),
        ("SELECT 'NaN'::float8 AS x", "SELECT 'NaN'::float8"),
        (
            "SELECT * FROM (VALUES (1, NULL), (1, NULL), (2, 'a')) AS v",
            "VALUES (2, 'a'), (1, NULL), (1, NULL)",
        ),
    ],
)
def test_equal(shared_db: str, result: str, query: str) -> None:
    assert not _difference(shared_db, result, query)


@pytest.mark.parametrize(
    ("result", "query"),
    [
        ("SELECT 1 AS x", "SELECT 2"),
        ("SELECT 'a' AS x", "SELECT 'a '"),
        ("SELECT NULL::text AS x", "SELECT ''"),
        ("SELECT 1 AS x", "SELECT 1 UNION ALL SELECT 1"),
        ("SELECT 1 AS x UNION ALL SELECT 1", "SELECT 1"),
        ("SELECT 1.5::numeric AS x", "SELECT 1.51::numeric"),
        ("SELECT 1::float8 AS x", "SELECT 1.00001::float8"),
        ("SELECT 'infinity'::date AS x", "SELECT '5874897-12-31'::date"),
        ("SELECT 1 AS x WHERE false", "SELECT 1"),
    ],
)
def test_different(shared_db: str, result: str, query: str) -> None:
    assert _difference(shared_db, result, query)
