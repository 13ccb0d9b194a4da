"""Where a construct stands in the user's own text: a reason is only useful with its place."""

from __future__ import annotations

import postgast

from runnel.errors import Unsupported


def place(text: str, token: str | None) -> str | None:
    """`line L, column C` of the first lexical token that reads `token`, comments and strings aside."""
    if not token:
        return None
    raw = text.encode()
    for found in postgast.scan(text).tokens:
        if raw[found.start : found.end].decode().lower().strip('"') == token.lower():
            before = raw[: found.start].decode()
            line = before.count("\n") + 1
            return f"line {line}, column {len(before) - (before.rfind(chr(10)) + 1) + 1}"
    return None


def reason(text: str, error: Unsupported) -> str:
    """The construct and its place, as status, history and errors show it."""
    where = place(text, error.token)
    return f"{error.message} ({where})" if where else error.message
