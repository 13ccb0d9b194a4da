"""Whether anything changed, how much, and whether a TRUNCATE is among it: asked before any Spark job."""

from __future__ import annotations

from dataclasses import dataclass

from runnel.catalog.client import Dependency, StreamTable
from runnel.catalog.connection import Connection

_NEW = (
    "(xid >= pg_snapshot_xmax(%(old)s::pg_snapshot)"
    " OR xid = ANY(array(SELECT pg_snapshot_xip(%(old)s::pg_snapshot))))"
    " AND pg_visible_in_snapshot(xid, %(new)s::pg_snapshot)"
)


@dataclass(frozen=True, slots=True)
class Changed:
    """Log rows since the frontier, counted up to a limit."""

    rows: int
    truncated: bool


def table_changes(conn: Connection, dependency: Dependency, old: str, new: str, limit: int) -> Changed:
    log = f"pgtrickle_changes.changes_{dependency.capture_id}"
    counted = f"SELECT count(*), coalesce(bool_or(w = 0), false) FROM (SELECT w FROM {log} WHERE {_NEW}"
    row = conn.execute(f"{counted} LIMIT {limit + 1}) AS q".encode(), {"old": old, "new": new}).fetchone()
    assert row is not None
    changed = Changed(*row)
    if changed.rows > limit and not changed.truncated:
        marker = f"SELECT EXISTS (SELECT FROM {log} WHERE {_NEW} AND w = 0)"
        found = conn.execute(marker.encode(), {"old": old, "new": new}).fetchone()
        return Changed(changed.rows, bool(found and found[0]))
    return changed


def stream_changes(conn: Connection, dependency: Dependency, upto: int, limit: int) -> Changed:
    """What an upstream logged between what was consumed and the number that this refresh reads."""
    log = f"pgtrickle_changes.stream_{dependency.upstream_id}"
    rows = f"SELECT FROM {log} WHERE refresh_number > %s AND refresh_number <= %s LIMIT %s"
    row = conn.execute(
        f"SELECT count(*) FROM ({rows}) AS q".encode(), [dependency.consumed, upto, limit + 1]
    ).fetchone()
    assert row is not None
    return Changed(row[0], False)


def pages_of(conn: Connection, table: StreamTable) -> dict[int, int]:
    """The size of each source in pages, by which scans are cut into ranges."""
    relids = [d.relid for d in table.dependencies if d.kind != "lake"]
    query = "SELECT c, (pg_relation_size(c::regclass) / 8192)::bigint FROM unnest(%s::oid[]) AS c"
    return dict(conn.execute(query, [relids]).fetchall())
