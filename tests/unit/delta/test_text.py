"""The layout of generated SQL: only what something reads, and what writes."""

from __future__ import annotations

from runnel.delta.text import with_query


def test_leaves_out_what_nothing_reads() -> None:
    text = with_query([("a", "SELECT 1"), ("b", "SELECT * FROM a"), ("c", "SELECT 3")], "SELECT * FROM b")
    assert text == "WITH a AS (SELECT 1),\nb AS (SELECT * FROM a)\nSELECT * FROM b"


def test_keeps_what_writes_and_what_that_reads() -> None:
    text = with_query([("a", "SELECT 1"), ("b", "DELETE FROM t USING a")], "SELECT 1")
    assert text == "WITH a AS (SELECT 1),\nb AS (DELETE FROM t USING a)\nSELECT 1"


def test_is_the_query_itself_where_nothing_is_left() -> None:
    assert with_query([("a", "SELECT 1")], "SELECT 2") == "SELECT 2"
