"""Places are those of the user's own text: lexical tokens, not letters in comments, strings or longer names."""

from __future__ import annotations

import pytest

from runnel.errors import Unsupported
from runnel.frontend import place, reason


@pytest.mark.parametrize(
    ("text", "token", "expected"),
    [
        ("SELECT 1 LIMIT 2", "LIMIT", "line 1, column 10"),
        ("select 1\n  limit 2", "LIMIT", "line 2, column 3"),
        ("SELECT 'LIMIT' /* LIMIT */ -- LIMIT\nLIMIT 1", "LIMIT", "line 2, column 1"),
        ('SELECT "größe", x FROM t', "x", "line 1, column 17"),
        ("SELECT limits FROM t", "LIMIT", None),
        ('SELECT "Weird Name" FROM t', "Weird Name", "line 1, column 8"),
        ("SELECT 1", None, None),
    ],
)
def test_place(text: str, token: str | None, expected: str | None) -> None:
    assert place(text, token) == expected


def test_reason_names_construct_and_place() -> None:
    error = Unsupported("DISTINCT", token="DISTINCT")
    assert (
        reason("SELECT\nDISTINCT 1", error) == "DISTINCT is not maintained incrementally (line 2, column 1)"
    )
    assert reason("SELECT 1", error) == "DISTINCT is not maintained incrementally"
