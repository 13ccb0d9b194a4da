"""What was asked for from SQL, and the engine's answers: the other side of refresh_stream_table."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from runnel.catalog.client import query_text
from runnel.catalog.connection import Connection


@dataclass(frozen=True, slots=True)
class Request:
    """Somebody wants this stream table refreshed; an answer serves every request up to the signal."""

    pgt_id: int
    signal: int


def last_signal(conn: Connection) -> int:
    """Rises with every request and every change of a stream table, at once; cheap enough for every tick."""
    row = conn.execute("SELECT last_value FROM pgtrickle.pgt_request_signal").fetchone()
    assert row is not None
    return int(row[0])


def pending_requests(conn: Connection) -> tuple[Request, ...]:
    """The requests so far, for refreshes that start after this call (READ COMMITTED or autocommit only).

    The signal is read first: whoever drew one up to it shows its lock already.
    """
    signal = last_signal(conn)
    return tuple(Request(int(row[0]), signal) for row in conn.execute(query_text("pending_requests")))


def finish_request(
    conn: Connection, request: Request, *, refresh_id: UUID | None = None, error: str | None = None
) -> None:
    """Answer by the refresh that served it (the newest one where nothing had changed), or by the error."""
    conn.execute(query_text("finish_request"), [refresh_id, error, request.pgt_id, request.signal])
    conn.execute(query_text("answer_request"), [request.signal, refresh_id, error, request.pgt_id])
    conn.execute(
        "DELETE FROM pgtrickle.pgt_refresh_requests WHERE done_at < clock_timestamp() - interval '1 hour'"
    )
