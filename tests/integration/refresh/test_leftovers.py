"""Nothing staged outlives its attempt: a failed one clears up, a killed one is swept by the next engine."""

from __future__ import annotations

from typing import Any

import psycopg
from tests.conftest import Connect

from runnel.refresh.leftovers import sweep
from runnel.refresh.model import Options
from runnel.refresh.round import Refresher

_STAGED = "SELECT relname::text FROM pg_class WHERE relname ~ '^(full|lake)_' AND relkind = 'r' ORDER BY 1"


def _leftovers(conn: psycopg.Connection[Any]) -> tuple[list[str], int]:
    tables = [row[0] for row in conn.execute(_STAGED)]
    row = conn.execute("SELECT count(*) FROM pgtrickle_state.staged_1").fetchone()
    return tables, row[0] if row else 0


def test_failed_attempts_leave_nothing(runnel_db: str, connect: Connect, spark: Any) -> None:
    conn = connect(runnel_db, autocommit=True)
    conn.execute("CREATE TABLE t (id int PRIMARY KEY, n int)")
    conn.execute("INSERT INTO t SELECT i, i FROM generate_series(1, 20) AS i")
    conn.execute(
        "SELECT pgtrickle.create_stream_table('sums', 'SELECT n % 3 AS k, sum(n) AS s FROM t GROUP BY n % 3')"
    )
    conn.execute("SELECT pgtrickle.create_stream_table('top', 'SELECT id FROM t ORDER BY id LIMIT 3')")
    refresher = Refresher(runnel_db, spark, Options(gear="second"))
    assert [outcome.error for outcome in refresher.refresh([1, 2])] == [None, None]
    conn.execute("ALTER TABLE sums ADD CONSTRAINT small CHECK (s < 100)")
    conn.execute("ALTER TABLE top ADD CONSTRAINT small CHECK (id > 0)")
    conn.execute("INSERT INTO t VALUES (-1, 99), (99, 500)")
    assert all(outcome.error is not None for outcome in refresher.refresh([1, 2]))
    assert _leftovers(conn) == ([], 0)
    refresher.close()


def test_an_engine_sweeps_what_a_killed_one_left(runnel_db: str, connect: Connect, spark: Any) -> None:
    conn = connect(runnel_db, autocommit=True)
    conn.execute("CREATE TABLE t (id int PRIMARY KEY)")
    conn.execute("SELECT pgtrickle.create_stream_table('ids', 'SELECT id FROM t')")
    refresher = Refresher(runnel_db, spark)
    refresher.refresh([1])
    conn.execute("CREATE UNLOGGED TABLE pgtrickle_state.full_1_abc (c1 int)")
    conn.execute("INSERT INTO pgtrickle_state.staged_1 (tag) VALUES ('killed')")
    sweep(conn)
    assert _leftovers(conn) == ([], 0)
    refresher.close()
