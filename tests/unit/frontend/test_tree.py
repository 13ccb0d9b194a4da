"""Rewriting expressions of PostgreSQL's own tree, and printing them back."""

from __future__ import annotations

import pytest

from runnel.errors import InternalError
from runnel.frontend import expressions, tree


def _expression(sql: str) -> tree.Node:
    return tree.parse_select(f"SELECT {sql}").target_list[0].res_target.val


@pytest.mark.parametrize(
    "sql",
    [
        "a.x + 1",
        "CASE WHEN a.x > 0 THEN 'y'::text ELSE NULL END",
        "COALESCE(a.x, b.y)",
        "a.x = ANY (ARRAY[1, 2])",
    ],
)
def test_prints_what_it_read(sql: str) -> None:
    printed = tree.print_expression(_expression(sql))
    assert tree.print_expression(_expression(printed)) == printed


def test_rewrites_without_touching_the_original() -> None:
    node = _expression("t.x + f(t.y)")
    changed = tree.rewrite(
        node, lambda n: tree.column_ref("g", "k1") if tree.kind(n) == "column_ref" else None
    )
    assert tree.print_expression(changed) == "g.k1 + f(g.k1)"
    assert tree.print_expression(node) == "t.x + f(t.y)"


def test_conjuncts_are_those_at_the_top() -> None:
    node = _expression("a AND (b OR c) AND NOT (d AND e)")
    assert [tree.print_expression(part) for part in tree.conjuncts(node)] == ["a", "b OR c", "NOT (d AND e)"]


def test_columns_by_alias_and_name() -> None:
    assert expressions.columns(_expression('t.x + s."Y" * t.x')) == {("t", "x"), ("s", "Y")}


@pytest.mark.parametrize(
    ("sql", "raises"),
    [
        ("t.x = 1", False),
        ("upper(t.g) || 'x'", False),
        ("t.g LIKE '%a'", False),
        (r"t.g LIKE 'a\'", True),
        ("t.g LIKE t.h", True),
        ("100 / t.x", True),
        ("t.x + 1", True),
        ("CASE WHEN t.x <> 0 THEN 1 / t.x END", True),
        ("substr(t.g, t.x)", True),
        ("mine.f(t.x)", True),
    ],
)
def test_what_could_raise(sql: str, raises: bool) -> None:
    assert expressions.may_raise(_expression(sql), {}) == raises


def test_only_one_select_is_a_view() -> None:
    with pytest.raises(InternalError):
        tree.parse_select("SELECT 1; SELECT 2")
