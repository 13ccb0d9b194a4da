"""A playbook's text: the forms that are read, and one clear message for each that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from runnel.errors import UserError
from runnel.playbook import parse_playbook, read_playbook

HEAD = "metadata: {name: p}\nworkflow:\n"
TOOL = "catalog_connection: c, catalog_name: a, data_path: d, command: SELECT 1"


@pytest.mark.parametrize(
    "step",
    [
        f"  - {{step: a, tool: ducklake, {TOOL}}}\n",
        f"  - {{step: a, tool: {{kind: ducklake, {TOOL}}}}}\n",
    ],
)
def test_the_tool_stands_on_the_step_or_inside(step: str) -> None:
    [found] = parse_playbook(HEAD + step).workflow
    assert found.tool is not None
    assert found.tool.texts == ("SELECT 1",)


@pytest.mark.parametrize(
    ("loop", "ordered", "concurrency"),
    [
        ("{collection: [1], element: x, mode: async}", False, 8),
        ("{collection: [1], element: x, mode: async, concurrency: 3}", False, 3),
        ("{collection: [1], element: x}", True, 8),
        ("{in: [1], iterator: x, mode: parallel}", False, 8),
        ("{in: [1], iterator: x, spec: {mode: parallel, max_in_flight: 2}}", False, 2),
    ],
)
def test_forms_of_a_loop(loop: str, ordered: bool, concurrency: int) -> None:
    found = parse_playbook(f"{HEAD}  - {{step: a, tool: ducklake, {TOOL}, loop: {loop}}}\n").workflow[0].loop
    assert found is not None
    assert (found.collection, found.element, found.ordered, found.concurrency) == (
        [1],
        "x",
        ordered,
        concurrency,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata: {name: p}\nworkflow:\n  - step: [a\n", "line 4, column 1"),
        ("metadata: {name: p}\nworkload: {a: 1, a: 2}\nworkflow: []\n", 'key "a" is there twice'),
        ("just a text", "not a playbook"),
        ("metadata: {name: p}\n", "line 1: workflow is missing"),
        (HEAD + "  - step: a\n    tool: http\n", "line 3: step \"a\": tool 'http' is not known"),
        (HEAD + f"  - {{step: a, tool: ducklake, {TOOL}, comand: x}}\n", 'step "a": comand is not a field'),
        (
            HEAD + "  - step: a\n    tool: ducklake\n    data_path: d\n    command: x\n",
            "catalog_name is missing",
        ),
        (HEAD + f"  - {{step: a, tool: ducklake, {TOOL}, commands: [x]}}\n", "one of command and commands"),
        (HEAD + "  - step: a\n  - step: b\n    next: nowhere\n", 'goes on to "nowhere", which is no step'),
        (HEAD + "  - step: a\n  - step: a\n", 'step "a" is there twice'),
        (HEAD + "  - step: a\n    next: [{when: x}]\n", "line 4"),
        (HEAD + "  - step: a\n    retry: 3\n", "retry is not supported yet"),
        (HEAD + "  - step: a\n    loop: {collection: [1], element: x}\n", "a loop needs a tool"),
        (
            HEAD
            + f"  - {{step: a, tool: ducklake, {TOOL},\n"
            + "     loop: {collection: [1], element: x, mode: y}}\n",
            "loop.mode",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_playbook(text, "p.yaml")
    assert caught.value.message.startswith("p.yaml")
    assert message in caught.value.message


def test_a_bare_template_is_told_to_be_quoted() -> None:
    with pytest.raises(UserError) as caught:
        parse_playbook(HEAD + "  - step: a\n    args: {x: {{ y }}}\n")
    assert caught.value.hint is not None
    assert "quotes" in caught.value.hint


def test_no_secret_of_the_text_is_in_a_message() -> None:
    with pytest.raises(UserError) as caught:
        parse_playbook('metadata: {name: p}\nkeychain: [{db_password: "hunter2", x: }, ]]\nworkflow: []\n')
    assert "hunter2" not in str(caught.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_playbook(tmp_path / "none.yaml")
