"""Calls that meet others end cleanly: with a name of who is in the way, or after them, never for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from .conftest import World, create, one

Connect = Callable[..., psycopg.Connection[Any]]


def test_a_writer_in_the_way_of_capture_is_named(world: World, connect: Connect) -> None:
    other = connect(world.alice_dsn)
    other.execute("INSERT INTO app.orders (region) VALUES ('open')")
    before = world.leftovers()
    world.alice.execute("SET lock_timeout = '100ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable) as caught:
        create(world.alice, "ids", "SELECT id FROM orders")
    assert "app.orders is locked" in str(caught.value.diag.message_primary)
    assert f"process {other.info.backend_pid} of {other.info.user}" in str(caught.value.diag.message_detail)
    assert one(world.alice, "SHOW lock_timeout") == "100ms"
    assert world.leftovers() == before
    other.commit()
    create(world.alice, "ids", "SELECT id FROM orders")


def test_the_settings_limit_holds_where_the_caller_has_none(world: World, connect: Connect) -> None:
    world.engine.execute("SELECT pgtrickle.set_setting('lock_timeout', '150ms')")
    other = connect(world.alice_dsn)
    other.execute("INSERT INTO app.orders (region) VALUES ('open')")
    with pytest.raises(psycopg.errors.LockNotAvailable, match="within 150ms"):
        create(world.alice, "ids", "SELECT id FROM orders")
    with pytest.raises(psycopg.Error):
        world.engine.execute("SELECT pgtrickle.set_setting('lock_timeout', 'soon')")


def test_a_drop_waits_for_a_reader_no_longer_than_it_may(world: World, connect: Connect) -> None:
    create(world.alice, "ids", "SELECT id FROM orders")
    reader = connect(world.engine_dsn)
    reader.execute("LOCK TABLE app.orders IN ACCESS SHARE MODE")
    before = world.leftovers()
    world.alice.execute("SET lock_timeout = '100ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable, match=r"app.orders is locked"):
        world.alice.execute("SELECT pgtrickle.drop_stream_table('ids')")
    assert world.leftovers() == before
    reader.rollback()
    reader.execute("SELECT * FROM app.ids")
    with pytest.raises(psycopg.errors.LockNotAvailable, match=r"app.ids is locked"):
        world.alice.execute("SELECT pgtrickle.drop_stream_table('ids')")
    reader.rollback()
    world.alice.execute("SELECT pgtrickle.drop_stream_table('ids')")


def test_creation_beside_a_drop_keeps_the_capture_it_uses(world: World, connect: Connect) -> None:
    """The new one shares a capture whose last consumer is being dropped."""
    create(world.alice, "old", "SELECT id FROM orders")
    creator = connect(world.alice_dsn)
    create(creator, "app.new", "SELECT id FROM app.orders")
    dropped = threading.Thread(
        target=lambda: world.alice.execute("SELECT pgtrickle.drop_stream_table('old')"), daemon=True
    )
    dropped.start()
    dropped.join(0.3)
    assert dropped.is_alive()  # it waits for the creator's transaction
    creator.commit()
    dropped.join(5)
    assert not dropped.is_alive()
    world.mallory.execute("SELECT 1")
    assert world.leftovers() | {"relations": 0} == {
        "stream tables": 1,
        "dependencies": 1,
        "captures": 1,
        "triggers": 4,
        "relations": 0,
        "functions": 1,
    }
    creator.execute("INSERT INTO app.orders (region) VALUES ('eu')")
    creator.commit()
    assert len(world.log("app.orders")) == 1


def test_many_create_and_drop_at_once(world: World) -> None:
    """Whoever fails does so for a lock, and what is left is consistent."""
    world.alice.execute("CREATE TABLE more (id bigint)")
    world.alice.execute(f"GRANT SELECT, TRIGGER ON more TO {world.engine.info.user}".encode())
    failures: list[psycopg.Error] = []

    def work(number: int) -> None:
        with psycopg.connect(world.alice_dsn, autocommit=True) as conn:
            for turn in range(4):
                name = f"app.t{number}"
                try:
                    create(conn, name, "SELECT o.id FROM app.orders o JOIN app.more m ON m.id = o.id")
                    conn.execute(
                        "INSERT INTO app.orders (region) VALUES ('x'); INSERT INTO app.more VALUES (1)"
                    )
                    if turn < 3:
                        conn.execute("SELECT pgtrickle.drop_stream_table(%s)", [name])
                except psycopg.Error as error:
                    failures.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    unexpected = [error for error in failures if not isinstance(error, _EXPECTED)]
    assert unexpected == []
    left = world.leftovers()
    assert left["dependencies"] == 2 * left["stream tables"]
    assert left["captures"] == (2 if left["stream tables"] else 0)
    assert left["functions"] == left["captures"]
    assert left["triggers"] == 4 * left["captures"]


_EXPECTED = (psycopg.errors.LockNotAvailable, psycopg.errors.DuplicateTable, psycopg.errors.DeadlockDetected)
