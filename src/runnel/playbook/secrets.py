"""Keeping passwords out of everything a user or a log gets to see."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

_MASK = "********"
# What a connection text may hold that we could not parse, and so do not know the secret of.
_URL = re.compile(r"(://[^\s:/@]*:)[^\s]*@")
_PAIR = re.compile(
    r"""((?:password|passwd|pwd|secret|token)["']?\s*[=:]\s*)('(?:[^']|'')*'|"[^"]*"|[^\s,}]+)""",
    re.IGNORECASE,
)


def hide(text: str, *conninfos: str, known: Iterable[str] = ()) -> str:
    """The text without the passwords of these connections, and without what looks like one."""
    secrets = [*known, *filter(None, map(_password, conninfos))]
    for secret in sorted(secrets, key=len, reverse=True):
        for form in (secret, quote(secret, safe="")):
            text = text.replace(form, _MASK)
    return _PAIR.sub(rf"\1{_MASK}", _URL.sub(rf"\1{_MASK}@", text))


def _password(conninfo: str) -> str | None:
    try:
        value = conninfo_to_dict(conninfo).get("password")
    except psycopg.ProgrammingError:
        return None
    return str(value) if value else None
