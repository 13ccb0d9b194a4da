"""Which items of a loop share a statement or a transaction, and which must not."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runnel.playbook.ducklake.items import Item, Prepared, coalesced, groups, prepare, values_of


def prepared(*commands: str) -> list[Prepared]:
    return [prepare(Item(index, (command,)), lambda *_: None) for index, command in enumerate(commands)]


def sizes(*commands: str, ordered: bool = False) -> list[int]:
    return [len(group) for group in groups(prepared(*commands), ordered)]


@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("INSERT INTO t VALUES (1, now(), 'a)b')", 1),
        ("insert into s.t (a, b)\n values (1, 2), (3, (4 + 5))", 2),
        ("INSERT INTO t VALUES (DEFAULT)", 1),
    ],
)
def test_rows_written_out_can_be_put_together(sql: str, count: int) -> None:
    values = values_of(sql)
    assert values is not None
    assert values.count == count


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t SELECT 1",
        "INSERT INTO t VALUES ((SELECT max(a) + 1 FROM t))",
        "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
        "INSERT INTO t VALUES (1) RETURNING a",
        "INSERT OR REPLACE INTO t VALUES (1)",
        "WITH x AS (SELECT 1) INSERT INTO t VALUES (1)",
        "INSERT INTO t DEFAULT VALUES",
    ],
)
def test_anything_else_stays_as_it_is(sql: str) -> None:
    assert values_of(sql) is None


def test_items_with_one_prefix_become_one_insert() -> None:
    group = prepared("INSERT INTO t (a)  VALUES (1);", "insert INTO t(a) VALUES (2), (3)")
    assert coalesced(group[:1]) is None
    assert coalesced(prepared("INSERT INTO t VALUES (1)", "INSERT INTO u VALUES (1)")) is None
    together = coalesced(prepared("INSERT INTO t (a) VALUES (1);", "INSERT INTO t (a)\nVALUES (2), (3)"))
    assert together is not None
    assert together.sql == "INSERT INTO t ( a ) VALUES (1), (2), (3)"


def test_groups_keep_the_order_and_leave_what_may_be_large_alone() -> None:
    insert, update, large = "INSERT INTO t VALUES (1)", "UPDATE t SET a = 1", "INSERT INTO t SELECT * FROM u"
    assert sizes(*[insert] * 700) == [500, 200]
    assert sizes(*[update] * 25) == [20, 5]
    assert sizes(insert, insert, large, large, insert) == [2, 1, 1, 1]
    assert sizes(insert, insert, ordered=True) == [1, 1]


@given(st.lists(st.lists(st.one_of(st.integers(), st.text("ab'();,- ")), min_size=1, max_size=3), min_size=2))
def test_one_insert_writes_what_the_items_would_have_written(rows: list[list[int | str]]) -> None:
    width = len(rows[0])
    rows = [(row * width)[:width] for row in rows]
    texts = [f"INSERT INTO t VALUES ({', '.join(_sql(value) for value in row)})" for row in rows]
    together = coalesced(prepared(*texts))
    assert together is not None
    assert _contents(width, [together.sql]) == _contents(width, texts)


def _sql(value: int | str) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def _contents(width: int, statements: list[str]) -> list[tuple[str, ...]]:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(f'c{at} VARCHAR' for at in range(width))})")
        for statement in statements:
            connection.execute(statement)
        return connection.execute("FROM t").fetchall()
