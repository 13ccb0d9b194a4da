"""The change log holds every change of every kind, once, whatever the writer does."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import psycopg
import pytest

from runnel.catalog import client

from .conftest import World, create, one


@pytest.fixture
def followed(world: World) -> World:
    create(world.alice, "ids", "SELECT id, region FROM orders")
    return world


def contents(world: World) -> Counter[tuple[object, ...]]:
    return Counter(world.alice.execute("SELECT * FROM orders").fetchall())


def logged(world: World) -> Counter[tuple[object, ...]]:
    """The sum of all changes: what the table must hold, if it was empty at first."""
    total: Counter[tuple[object, ...]] = Counter()
    for weight, *row in world.log("app.orders"):
        total[tuple(row)] += weight
    assert all(weight >= 0 for weight in total.values())
    return +total


def test_insert_update_delete(followed: World) -> None:
    followed.alice.execute("INSERT INTO orders (region, total_usd) VALUES ('eu', 1.50), (NULL, 2)")
    followed.alice.execute("UPDATE orders SET region = 'us' WHERE id = 1")
    followed.alice.execute("DELETE FROM orders WHERE id = 2")
    assert followed.log("app.orders") == sorted(
        [
            (1, 1, "eu", "new", Decimal("1.50")),
            (1, 2, None, "new", Decimal("2.00")),
            (-1, 1, "eu", "new", Decimal("1.50")),
            (1, 1, "us", "new", Decimal("1.50")),
            (-1, 2, None, "new", Decimal("2.00")),
        ],
        key=repr,
    )


def test_every_statement_that_writes(followed: World) -> None:
    alice = followed.alice
    alice.execute("INSERT INTO orders (region) SELECT 'r' || n FROM generate_series(1, 20) AS n")
    with alice.cursor() as cursor, cursor.copy("COPY orders (region, total_usd) FROM STDIN") as copy:
        copy.write_row(("copied", Decimal("3.25")))
    alice.execute("UPDATE orders SET region = region WHERE id < 5")
    alice.execute(
        "INSERT INTO orders (id, region) OVERRIDING SYSTEM VALUE VALUES (3, 'again'), (90, 'late')"
        " ON CONFLICT (id) DO UPDATE SET region = excluded.region"
    )
    alice.execute(
        "INSERT INTO orders (id, region) OVERRIDING SYSTEM VALUE VALUES (3, 'no') ON CONFLICT DO NOTHING"
    )
    alice.execute(
        """
        MERGE INTO orders o USING (VALUES (1, 'm1'), (2, NULL), (500, 'm500')) AS m (id, region)
        ON m.id = o.id
        WHEN MATCHED AND m.region IS NULL THEN DELETE
        WHEN MATCHED THEN UPDATE SET region = m.region
        WHEN NOT MATCHED THEN INSERT (id, region) OVERRIDING SYSTEM VALUE VALUES (m.id, m.region)
        """
    )
    alice.execute(
        "WITH gone AS (DELETE FROM orders WHERE id = 7 RETURNING region)"
        " INSERT INTO orders (region) SELECT region || '!' FROM gone"
    )
    assert logged(followed) == contents(followed)


def test_rollbacks_and_savepoints(followed: World) -> None:
    alice = followed.alice
    with alice.transaction(force_rollback=True):
        alice.execute("INSERT INTO orders (region) VALUES ('never')")
    with alice.transaction():
        alice.execute("INSERT INTO orders (region) VALUES ('outer')")
        with alice.transaction(force_rollback=True):
            alice.execute("UPDATE orders SET region = 'inner'")
        with alice.transaction():
            alice.execute("UPDATE orders SET status = 'kept'")
    assert logged(followed) == contents(followed)
    assert one(followed.engine, "SELECT count(DISTINCT xid) FROM pgtrickle_changes.changes_1") == 1


def test_truncate_writes_one_marker(followed: World) -> None:
    followed.alice.execute("INSERT INTO orders (region) VALUES ('eu'), ('us')")
    followed.alice.execute("TRUNCATE orders")
    assert [row for row in followed.log("app.orders") if row[0] == 0] == [(0, None, None, None, None)]


def test_foreign_keys_that_cascade(followed: World) -> None:
    followed.alice.execute("CREATE TABLE regions (name text PRIMARY KEY)")
    followed.alice.execute("ALTER TABLE orders ADD FOREIGN KEY (region) REFERENCES regions ON DELETE CASCADE")
    followed.alice.execute("INSERT INTO regions VALUES ('eu'), ('us')")
    followed.alice.execute("INSERT INTO orders (region) VALUES ('eu'), ('us'), ('eu')")
    followed.alice.execute("DELETE FROM regions WHERE name = 'eu'")
    assert logged(followed) == contents(followed)


def test_changes_of_the_sources_columns_never_fail_the_writer(followed: World) -> None:
    alice = followed.alice
    alice.execute("INSERT INTO orders (region, total_usd) VALUES ('eu', 1)")
    alice.execute("ALTER TABLE orders RENAME region TO area")
    alice.execute("ALTER TABLE orders ADD COLUMN note text DEFAULT 'x', DROP COLUMN status")
    alice.execute("ALTER TABLE orders ALTER COLUMN total_usd TYPE text")
    alice.execute("INSERT INTO orders (area, total_usd) VALUES ('us', 'dear')")
    alice.execute("UPDATE orders SET area = 'asia' WHERE id = 1")
    assert followed.log("app.orders") == sorted(
        [
            (1, 1, "eu", "new", Decimal("1.00")),
            (1, 2, "us", None, None),
            (-1, 1, "eu", None, None),
            (1, 1, "asia", None, None),
        ],
        key=repr,
    )


def test_a_column_that_the_log_lacks_is_refused(followed: World) -> None:
    followed.alice.execute("ALTER TABLE orders ADD COLUMN note text")
    create(followed.alice, "still_fine", "SELECT id FROM orders")
    with pytest.raises(
        psycopg.Error, match=r"column note of app.orders is younger than the capture"
    ) as caught:
        create(followed.alice, "notes", "SELECT id, note FROM orders")
    assert "drop" in str(caught.value.diag.message_hint)


def test_a_domains_check_does_not_run_in_the_capture(world: World) -> None:
    world.mallory.execute(
        "CREATE FUNCTION hurt(text) RETURNS boolean LANGUAGE sql AS $$ SELECT current_user ~ 'mallory' $$"
    )
    world.mallory.execute("CREATE DOMAIN label AS text CHECK (hurt(VALUE))")
    world.mallory.execute("CREATE TABLE labels (id int, name label)")
    world.mallory.execute(f"GRANT SELECT, TRIGGER ON labels TO {world.engine.info.user}".encode())
    create(world.mallory, "ids", "SELECT id FROM labels")
    world.mallory.execute("INSERT INTO labels VALUES (1, 'a')")
    world.mallory.execute("TRUNCATE labels")
    assert world.log("evil.labels") == [(0, None, None), (1, 1, "a")]


def test_disabled_triggers_are_noticed(followed: World) -> None:
    (table,) = client.load_stream_tables(followed.engine)
    assert client.renew_captures(followed.engine) == ()
    followed.alice.execute("ALTER TABLE orders DISABLE TRIGGER USER")
    assert "missing or disabled" in str(client.check_rights(followed.engine, table.pgt_id))
    followed.alice.execute("ALTER TABLE orders ENABLE TRIGGER USER")
    assert client.check_rights(followed.engine, table.pgt_id) is None
    assert client.renew_captures(followed.engine) == (table.pgt_id,)
    assert client.renew_captures(followed.engine) == ()


def test_a_prepared_transaction_is_one_change(followed: World) -> None:
    followed.alice.execute("BEGIN")
    followed.alice.execute("INSERT INTO orders (region) VALUES ('two-phase')")
    followed.alice.execute("PREPARE TRANSACTION 'capture-test'")
    assert followed.log("app.orders") == []
    followed.alice.execute("COMMIT PREPARED 'capture-test'")
    assert logged(followed) == contents(followed)
