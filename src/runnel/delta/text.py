"""Laying out SQL so that a person can read what runs."""

from __future__ import annotations

import re


def with_query(ctes: list[tuple[str, str]], query: str) -> str:
    """WITH a AS (…), b AS (…) query: one relation a line, without those that nothing reads."""
    kept: list[tuple[str, str]] = []
    text = query
    for name, sql in reversed(ctes):
        if _writes(sql) or re.search(rf"\b{name}\b", text):
            kept.append((name, sql))
            text += " " + sql
    if not kept:
        return query
    return "WITH " + ",\n".join(f"{name} AS ({sql})" for name, sql in reversed(kept)) + "\n" + query


def _writes(sql: str) -> bool:
    return sql.startswith(("INSERT", "UPDATE", "DELETE"))
