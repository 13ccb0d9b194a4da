"""How DuckLake spells names: in change tokens, as directories, as ids of files."""

from __future__ import annotations

import difflib
import os
import re
import time
from collections.abc import Iterable
from uuid import UUID

_PLAIN = re.compile(r"^[A-Za-z0-9_-]+$")


def quote_name(name: str) -> str:
    """A name inside SQL text that DuckDB reads, and inside a change token."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """A literal inside SQL text that DuckDB reads."""
    return "'" + text.replace("'", "''") + "'"


def describe_change(kind: str, subject: int | tuple[str, ...]) -> str:
    """One token of `changes_made`: `inserted_into_table:3`, `created_view:"main"."v"`."""
    text = str(subject) if isinstance(subject, int) else ".".join(quote_name(part) for part in subject)
    return f"{kind}:{text}"


def split_changes(changes_made: str) -> tuple[tuple[str, str], ...]:
    """The tokens of `changes_made` as (kind, subject); a comma inside a quoted name does not split."""
    found = re.findall(r'([a-z_]+):((?:"(?:[^"]|"")*"|[^,"])+)', changes_made)
    return tuple((kind, subject) for kind, subject in found)


def table_path(name: str, uuid: UUID) -> str:
    """The directory of a new schema or table; DuckDB, too, falls back on the id for unusual names."""
    return f"{name}/" if _PLAIN.match(name) else f"{uuid}/"


def uuid7() -> UUID:
    """A random id that sorts by time (version 7), as the names of DuckLake's files are."""
    stamp = time.time_ns() // 1_000_000
    tail = int.from_bytes(os.urandom(10), "big")
    value = (stamp & (1 << 48) - 1) << 80 | 0x7 << 76 | (tail >> 68 & 0xFFF) << 64
    return UUID(int=value | 0b10 << 62 | tail & (1 << 62) - 1)


def near_names(wanted: str, known: Iterable[str], limit: int = 5) -> list[str]:
    """The known names that a typing error may have meant, the likeliest first; else the first few."""
    names = sorted(known)
    return difflib.get_close_matches(wanted, names, n=limit, cutoff=0.7) or names[:limit]
