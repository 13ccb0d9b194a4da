"""A few programs as text, read in review: what is asked of whom, what Spark combines, what the apply says.

`RUNNEL_REWRITE_GOLDEN=1 pytest tests/rules/test_golden.py` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psycopg
import pytest

from runnel.catalog import client
from runnel.refresh.compiled import Programs
from runnel.refresh.explain import explain

_FOLDER = Path(__file__).parent / "golden"
_REWRITE = bool(os.environ.get("RUNNEL_REWRITE_GOLDEN"))
_TABLES = """
    CREATE TABLE orders (id bigint PRIMARY KEY, product int, region text, total numeric(10, 2), at timestamptz);
    CREATE TABLE products (id int PRIMARY KEY, category text, weight numeric)
"""
# In this order they are created, so that the ids in their texts stay the same.
GOLDEN = {
    "filter": "SELECT id, total FROM orders WHERE region = 'north' AND total > 10",
    "sums": "SELECT region, sum(total) AS revenue, count(*) AS n, avg(total) AS mean FROM orders GROUP BY region",
    "extremes": "SELECT max(at) AS newest, min(region) AS first FROM orders HAVING count(*) > 0",
    "join": "SELECT o.id, p.category FROM orders o JOIN products p ON p.id = o.product",
    "join_and_group": "SELECT p.category, date_trunc('day', o.at) AS day, sum(o.total) AS revenue,"
    " count(DISTINCT o.region) AS regions FROM orders o JOIN products p ON p.id = o.product GROUP BY 1, 2",
    "undeclared_numeric": "SELECT category, sum(weight) AS weight FROM products GROUP BY category",
    "could_raise": "SELECT p.category, sum(o.total / p.weight) AS each"
    " FROM orders o JOIN products p ON p.id = o.product WHERE p.weight <> 0 GROUP BY p.category",
    "above": "SELECT category, sum(revenue) AS revenue FROM join_and_group GROUP BY category",
    "full": "SELECT DISTINCT region FROM orders",
}


@pytest.fixture(scope="module")
def printed(shared_db: str) -> dict[str, str]:
    with psycopg.connect(shared_db, autocommit=True) as conn:
        conn.execute(_TABLES)
        return {name: _printed(conn, name, query) for name, query in GOLDEN.items()}


def _printed(conn: psycopg.Connection[Any], name: str, query: str) -> str:
    conn.execute("SELECT pgtrickle.create_stream_table(%s, %s)", [name, query])
    table = client.load_stream_tables(conn)[-1]
    return explain(Programs().get(conn, table))


@pytest.mark.parametrize("name", GOLDEN)
def test_program(printed: dict[str, str], name: str) -> None:
    file = _FOLDER / f"{name}.sql"
    if _REWRITE:
        _FOLDER.mkdir(exist_ok=True)
        file.write_text(printed[name])
    assert printed[name] == file.read_text()


def test_no_golden_file_is_left_over() -> None:
    assert {file.stem for file in _FOLDER.iterdir()} == set(GOLDEN)
