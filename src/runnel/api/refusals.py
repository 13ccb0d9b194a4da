"""PostgreSQL's refusals as errors of our tree: what it says of the user's own text is the user's to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from runnel.errors import RunnelError, TransientError, UserError


@contextmanager
def refusals() -> Iterator[None]:
    """Inside, an error of PostgreSQL becomes one message with its detail, its place and its hint."""
    try:
        yield
    except psycopg.Error as error:
        raise _as_runnel_error(error) from error


def _as_runnel_error(error: psycopg.Error) -> RunnelError:
    diagnostics = error.diag
    message = diagnostics.message_primary or (str(error).splitlines() or [type(error).__name__])[0]
    is_transient = isinstance(error, psycopg.OperationalError) or error.sqlstate == "55P03"
    kind = TransientError if is_transient else UserError
    return kind(message, detail=_detail(error), hint=diagnostics.message_hint)


def _detail(error: psycopg.Error) -> str | None:
    """Its own, and the line of the query that it points at."""
    parts = [error.diag.message_detail, _place(error)]
    return "\n".join(part for part in parts if part) or None


def _place(error: psycopg.Error) -> str | None:
    query, position = error.diag.internal_query, error.diag.internal_position
    if not query or not position:
        return None
    start = query.rfind("\n", 0, int(position) - 1) + 1
    line = query[start:].splitlines()[0]
    number = query.count("\n", 0, start) + 1
    said = f"line {number} of the query: "
    return f"{said}{line}\n{' ' * (len(said) + int(position) - 1 - start)}^"
