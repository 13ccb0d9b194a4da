"""The judges: PostgreSQL compares each stream table with its query, a plain DuckDB each view with its table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from runnel.demos.processes import Program
from runnel.demos.shop import sql_text

Connection = psycopg.Connection[Any]
_TREND_POINTS = 6

_AGAINST_QUERY = """
WITH wanted AS MATERIALIZED (SELECT q::text AS t FROM ({query}) AS q),
present AS MATERIALIZED (SELECT r::text AS t FROM {table} AS r)
SELECT (SELECT count(*) FROM present),
       (SELECT count(*) FROM (TABLE wanted EXCEPT ALL TABLE present) AS missing),
       (SELECT count(*) FROM (TABLE present EXCEPT ALL TABLE wanted) AS extra)
"""
_AGAINST_VIEW = """
WITH wanted AS MATERIALIZED (FROM postgres_query('pg', 'SELECT {texts} FROM {table}')),
present AS MATERIALIZED (SELECT COLUMNS(*)::VARCHAR FROM lake.{table})
SELECT (SELECT count(*) FROM present),
       (SELECT count(*) FROM (FROM wanted EXCEPT ALL FROM present)),
       (SELECT count(*) FROM (FROM present EXCEPT ALL FROM wanted))
"""
_TREND = """
SELECT sum(order_count)::BIGINT, sum(revenue_usd) FROM lake.{table} AT (VERSION => {snapshot})
"""
_SNAPSHOTS = """
SELECT ducklake_snapshot_id, extract(epoch FROM written_at - first_value(written_at) OVER (ORDER BY written_at))
FROM pgtrickle.pgt_ducklake_provenance WHERE stream_table_oid = %s::regclass AND ducklake_snapshot_id >= %s
ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """How two bags of rows compare, each row by the text of its columns."""

    rows: int
    missing: int
    extra: int

    @property
    def is_equal(self) -> bool:
        return self.missing == 0 and self.extra == 0


@dataclass(frozen=True, slots=True)
class Latency:
    """From the commit of an order to the moment when the reader had read a snapshot that contains it."""

    orders: int
    unseen: int
    p50: float | None
    p99: float | None
    longest: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """What a view showed at an older snapshot."""

    snapshot: int
    seconds: float
    orders: int
    revenue_usd: str


def against_query(conn: Connection, name: str) -> Difference:
    """The stream table against its query as the user wrote it, in one statement: at one moment."""
    row = conn.execute(
        "SELECT query FROM pgtrickle.pgt_stream_tables WHERE relid = %s::regclass", [name]
    ).fetchone()
    assert row is not None
    query = sql.SQL(_AGAINST_QUERY).format(query=sql.SQL(row[0]), table=sql.Identifier(name))
    counts = conn.execute(query).fetchone()
    assert counts is not None
    return Difference(*counts)


def against_view(conn: Connection, reader: Program, name: str) -> Difference:
    """The lake's view against the stream table, by DuckDB; PostgreSQL gives its own text of each value."""
    columns = conn.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
        " ORDER BY attnum",
        [name],
    )
    texts = ", ".join(f"{column}::text AS {column}" for (column,) in columns)
    [counts] = reader.ask(_AGAINST_VIEW.format(texts=texts, table=name))
    return Difference(*(int(count or 0) for count in counts))


def latency(
    conn: Connection,
    name: str,
    counted: Sequence[str],
    commits: Iterable[tuple[str, str, float]],
    sightings: Iterable[tuple[int, float]],
) -> Latency:
    """Which snapshot contains which order is for PostgreSQL to say: it wrote the frontiers."""
    with conn.transaction(force_rollback=True):
        _load(conn, "commits", "xid xid8, what text, at float8", commits)
        _load(conn, "sightings", "snapshot bigint, at float8", sightings)
        row = conn.execute(sql_text("latency"), {"stream_table": name, "counted": list(counted)}).fetchone()
    assert row is not None
    return Latency(*row)


def trend(conn: Connection, reader: Program, name: str, since: int) -> tuple[Point, ...]:
    """What the view showed over the course of the run, asked of the lake's own history."""
    snapshots = conn.execute(_SNAPSHOTS, [name, since]).fetchall()
    last = len(snapshots) - 1
    chosen = (
        sorted({round(last * i / (_TREND_POINTS - 1)) for i in range(_TREND_POINTS)}) if snapshots else []
    )
    points = []
    for snapshot, seconds in (snapshots[i] for i in chosen):
        [(orders, revenue)] = reader.ask(_TREND.format(table=name, snapshot=snapshot))
        points.append(Point(snapshot, float(seconds), int(orders or 0), revenue or "0"))
    return tuple(points)


def _load(conn: Connection, table: str, fields: str, rows: Iterable[tuple[object, ...]]) -> None:
    conn.execute(f"CREATE TEMP TABLE {table} ({fields})".encode())
    with conn.cursor().copy(f"COPY pg_temp.{table} FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row(row)
