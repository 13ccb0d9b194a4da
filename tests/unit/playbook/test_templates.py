"""Templates: own values, clear errors, and nothing outside the sandbox."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from runnel.errors import UserError
from runnel.playbook.templates import holds, names_in, render, render_sql

CONTEXT: dict[str, Any] = {
    "batch_ids": [1, 2],
    "result": {"data": {"command_0": {"row_count": 3, "rows": [{"items": "x", "count": Decimal("1.50")}]}}},
    "event": {"name": "loop.done"},
    "name": "it's",
    "nothing": None,
}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ batch_ids }}", [1, 2]),
        ("{{ batch_ids | length }}", 2),
        ("n={{ batch_ids[0] }}", "n=1"),
        ("{{ result.data.command_0.row_count }}", 3),
        ("{{ result.data.command_0.rows[0].items }}", "x"),
        ("{{ result.data.command_0.rows[0].count }}", Decimal("1.50")),
        ("{{ {'a': {'b': 1}} }}", {"a": {"b": 1}}),
        ("{{ name }}{{ name }}", "it'sit's"),
        ({"k": ["{{ batch_ids }}", 5]}, {"k": [[1, 2], 5]}),
        ("plain", "plain"),
        (7, 7),
    ],
)
def test_values(template: Any, value: Any) -> None:
    assert render(template, CONTEXT) == value


def test_sql_is_text_with_null_and_quoted_literals() -> None:
    assert render_sql("({{ nothing }}, {{ name | literal }}, {{ nothing | literal }})", CONTEXT) == (
        "(NULL, 'it''s', NULL)"
    )
    assert render_sql("{{ 'a\"b' | identifier }}", CONTEXT) == '"a""b"'


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("{{ event.name == 'loop.done' }}", True),
        ("event.name == 'other'", False),
        ("{{ 'false' }}", False),
        ("True", True),
        ("{{ nothing }}", False),
    ],
)
def test_conditions(condition: str, value: bool) -> None:
    assert holds(condition, CONTEXT) is value


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ unknown }}", "'unknown' is undefined"),
        ("a {{ result.data.command_9.rows }}", "command_9"),
        ("{{ 1 + }}", "not a template"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ range(10**9) | list }}", "Range too big"),
    ],
)
def test_an_error_names_its_expression(template: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        render(template, CONTEXT)
    assert message in caught.value.message
    assert "{{" in caught.value.message


def test_names_that_a_template_asks_for() -> None:
    assert names_in({"a": ["{{ x }}", "{{ y.z }}"], "b": 3}) == {"x", "y"}
