"""The SQL files keep the habits that the reference and the rights depend on."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

FOLDER = files("runnel.catalog").joinpath("sql")
PUBLIC = sorted(FOLDER.joinpath("functions").iterdir(), key=lambda f: f.name)
INTERNAL = sorted(FOLDER.joinpath("internal").iterdir(), key=lambda f: f.name)


@pytest.mark.parametrize("script", PUBLIC, ids=lambda f: f.name)
def test_one_public_function_per_file_with_its_reference(script: object) -> None:
    text = script.read_text()  # type: ignore[attr-defined]
    name = script.name.removesuffix(".sql")  # type: ignore[attr-defined]
    assert re.findall(r"CREATE OR REPLACE FUNCTION pgtrickle\.(\w+)", text) == [name]
    assert text.startswith(f"-- {name}(")


@pytest.mark.parametrize("script", [*PUBLIC, *INTERNAL], ids=lambda f: f.name)
def test_no_function_is_looked_up_where_the_caller_leads(script: object) -> None:
    """A body runs under a fixed search_path, or qualifies every call."""
    for function in script.read_text().split("CREATE OR REPLACE FUNCTION ")[1:]:  # type: ignore[attr-defined]
        head, body = re.split(r"AS \$\$", function, maxsplit=1)
        if "SET search_path = pg_catalog, pg_temp" in head:
            continue
        assert "SECURITY DEFINER" not in head
        calls = re.findall(r"(?<![\w.])(\w+)\(", body.split("$$")[0])
        assert calls == [], f"unqualified in {head.split('(')[0]}"
