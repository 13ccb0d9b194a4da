"""A new query for a filled stream table: its rows stay until the new ones are there, and whoever reads it follows."""

from __future__ import annotations

from typing import Any

from tests.conftest import Connect

from runnel.refresh.round import Refresher


def test_a_new_query_refills_by_difference(runnel_db: str, connect: Connect, spark: Any) -> None:
    conn = connect(runnel_db, autocommit=True)
    conn.execute("CREATE TABLE orders (id int PRIMARY KEY, region text, total numeric(8,2), status text)")
    conn.execute(
        "INSERT INTO orders SELECT i, 'r' || i % 3, i, 's' || i % 2 FROM generate_series(1, 30) AS i"
    )
    conn.execute(
        "SELECT pgtrickle.create_stream_table('sums', 'SELECT region, sum(total) AS s FROM orders GROUP BY region')"
    )
    conn.execute(
        "SELECT pgtrickle.create_stream_table('all_sums', 'SELECT count(*) AS n, sum(s) AS s FROM sums')"
    )
    ids = [row[0] for row in conn.execute("SELECT pgt_id FROM pgtrickle.pgt_stream_tables ORDER BY 1")]
    refresher = Refresher(runnel_db, spark)
    assert [outcome.error for outcome in refresher.refresh(ids)] == [None, None]
    changed = "SELECT status AS region, sum(total) AS s FROM orders WHERE id > 5 GROUP BY status"
    conn.execute("SELECT pgtrickle.alter_stream_table('sums', query => %s)", [changed])
    assert conn.execute("SELECT count(*) FROM sums").fetchone() == (3,)
    for delete in (None, 7):
        conn.execute("DELETE FROM orders WHERE id = %s", [delete])
        outcomes = refresher.refresh(ids)
        assert [outcome.error for outcome in outcomes] == [None, None]
        wanted = conn.execute(f"SELECT * FROM ({changed}) AS q ORDER BY 1".encode()).fetchall()
        assert conn.execute("SELECT * FROM sums ORDER BY 1").fetchall() == wanted
        assert conn.execute("SELECT * FROM all_sums").fetchone() == (2, sum(row[1] for row in wanted))
        assert outcomes[1].mode == "DIFFERENTIAL"
    refresher.close()
