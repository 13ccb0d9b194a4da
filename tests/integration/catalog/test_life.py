"""Altering, pausing and dropping: what goes, what stays, and what is refused."""

from __future__ import annotations

import psycopg
import pytest

from runnel.catalog import client

from .conftest import World, create, one

QUERY = "SELECT region, count(*) AS n FROM orders GROUP BY region"


def tables(world: World) -> dict[str, client.StreamTable]:
    return {str(table.name): table for table in client.load_stream_tables(world.engine)}


def test_dropping_the_last_consumer_removes_the_capture(world: World) -> None:
    before = world.leftovers()
    create(world.alice, "counts", QUERY, sink="ducklake")
    create(world.alice, "ids", "SELECT id FROM orders")
    world.engine.execute("CREATE TABLE pgtrickle_state.s_1 (a int)")
    world.engine.execute("CREATE TABLE pgtrickle_state.m_1_2 (a int)")
    world.engine.execute("CREATE TABLE pgtrickle_state.s_11 (a int)")
    world.engine.execute("CREATE TABLE pgtrickle_changes.stream_1 (a int)")
    world.alice.execute("SELECT pgtrickle.drop_stream_table('counts')")
    assert world.leftovers()["triggers"] == 4
    world.alice.execute("INSERT INTO orders (region) VALUES ('eu')")
    assert len(world.log("app.orders")) == 1
    world.alice.execute("SELECT pgtrickle.drop_stream_table('app.ids')")
    world.engine.execute("DROP TABLE pgtrickle_state.s_11")
    assert world.leftovers() == before
    world.alice.execute("INSERT INTO orders (region) VALUES ('us')")
    (sink,) = client.dropped_sinks(world.engine)
    assert (sink.schema, sink.name, sink.sink_mode) == ("app", "counts", "append")
    client.forget_dropped_sink(world.engine, sink.dropped_id)
    assert client.dropped_sinks(world.engine) == ()


def test_a_dropped_one_can_be_created_again(world: World) -> None:
    for _ in range(2):
        create(world.alice, "counts", QUERY)
        world.alice.execute("SELECT pgtrickle.drop_stream_table('counts')")


def test_what_others_read_is_dropped_with_cascade_only(world: World) -> None:
    before = world.leftovers()
    create(world.alice, "counts", QUERY)
    create(world.alice, "regions", "SELECT region FROM counts")
    with pytest.raises(psycopg.Error, match=r"stream table app.regions reads it") as caught:
        world.alice.execute("SELECT pgtrickle.drop_stream_table('counts')")
    assert "cascade => true" in str(caught.value.diag.message_hint)
    with pytest.raises(psycopg.Error, match="view pgtrickle_views"):
        world.alice.execute("DROP TABLE app.counts")
    world.alice.execute("SELECT pgtrickle.drop_stream_table('counts', cascade => true)")
    assert world.leftovers() == before


def test_a_users_view_stands_in_the_way(world: World) -> None:
    create(world.alice, "counts", QUERY)
    world.alice.execute("CREATE VIEW shown AS SELECT * FROM counts")
    with pytest.raises(psycopg.Error, match=r"other objects depend on stream table app.counts"):
        world.alice.execute("SELECT pgtrickle.drop_stream_table('counts')")
    assert tables(world)["counts"].exists
    world.alice.execute("SELECT pgtrickle.drop_stream_table('counts', true)")


def test_a_rolled_back_drop_changes_nothing(world: World) -> None:
    create(world.alice, "counts", QUERY)
    before = world.leftovers()
    with world.alice.transaction(force_rollback=True):
        world.alice.execute("SELECT pgtrickle.drop_stream_table('counts')")
    assert world.leftovers() == before
    world.alice.execute("INSERT INTO orders (region) VALUES ('eu')")
    assert len(world.log("app.orders")) == 1


def test_postgresql_protects_what_a_stream_table_reads(world: World) -> None:
    create(world.alice, "counts", QUERY)
    for statement in (
        "DROP TABLE orders",
        "ALTER TABLE orders DROP COLUMN region",
        "ALTER TABLE orders ALTER COLUMN region TYPE varchar",
    ):
        with pytest.raises(psycopg.Error):
            world.alice.execute(statement.encode())


def test_altering_options(world: World) -> None:
    create(world.alice, "counts", QUERY)
    world.alice.execute(
        "SELECT pgtrickle.alter_stream_table('counts', schedule => '5s', refresh_mode => 'full')"
    )
    world.alice.execute("SELECT pgtrickle.alter_stream_table('counts', sink => 'ducklake')")
    counts = tables(world)["counts"]
    assert (counts.schedule_ms, counts.refresh_mode, counts.sink, counts.sink_mode) == (
        5000,
        "FULL",
        "ducklake",
        "append",
    )
    assert counts.generation == 3
    world.alice.execute("SELECT pgtrickle.alter_stream_table('counts', ducklake_sink_mode => 'replace')")
    world.alice.execute("SELECT pgtrickle.alter_stream_table('counts', sink => 'none')")
    assert (tables(world)["counts"].sink, tables(world)["counts"].sink_mode) == (None, None)
    assert [sink.sink_mode for sink in client.dropped_sinks(world.engine)] == ["append", "replace"]
    with pytest.raises(psycopg.Error, match="cannot be read"):
        world.alice.execute("SELECT pgtrickle.alter_stream_table('counts', schedule => 'never')")


def test_altering_the_query(world: World) -> None:
    world.alice.execute("CREATE TABLE archive (region text)")
    world.alice.execute(f"GRANT SELECT, TRIGGER ON archive TO {world.engine.info.user}".encode())
    create(world.alice, "counts", QUERY)
    world.engine.execute("UPDATE pgtrickle.pgt_stream_tables SET is_populated = true, status = 'active'")
    world.alice.execute(
        "SELECT pgtrickle.alter_stream_table('counts',"
        " query => 'SELECT region, count(*) AS n FROM archive GROUP BY region;')"
    )
    counts = tables(world)["counts"]
    assert (counts.is_populated, counts.status, counts.frontier) == (False, "pending", None)
    assert [source.name for source in counts.dependencies] == ["archive"]
    assert client.check_rights(world.engine, counts.pgt_id) is None
    assert world.leftovers() == {
        "stream tables": 1,
        "dependencies": 1,
        "captures": 1,
        "triggers": 4,
        "relations": 2,
        "functions": 1,
    }


def test_a_new_query_with_other_columns_or_itself_is_refused(world: World) -> None:
    create(world.alice, "counts", QUERY)
    create(world.alice, "on_top", "SELECT region, n FROM counts")
    for query, message in [
        ("SELECT region FROM orders", "has other columns"),
        ("SELECT region, n FROM counts", "reads itself"),
        ("SELECT region, n FROM on_top", "reads itself"),
        ("SELECT region, random()::bigint AS n FROM orders", "volatile"),
        ("SELECT region, n FORM orders", "syntax error"),
    ]:
        with pytest.raises(psycopg.Error, match=message):
            world.alice.execute("SELECT pgtrickle.alter_stream_table('counts', query => %s)", [query])


def test_pausing(world: World) -> None:
    create(world.alice, "counts", QUERY)
    world.alice.execute("SELECT pgtrickle.pause_stream_table('counts')")
    assert tables(world)["counts"].status == "suspended"
    assert (
        one(world.alice, "SELECT reason FROM pgtrickle.pgt_status()") == f"paused by {world.alice.info.user}"
    )
    world.alice.execute("SELECT pgtrickle.resume_stream_table('counts')")
    assert (tables(world)["counts"].status, tables(world)["counts"].reason) == ("pending", None)


def test_failures_are_shown(world: World) -> None:
    create(world.alice, "counts", QUERY)
    client.record_failure(world.engine, 1, status="error", reason="it broke")
    assert (
        one(world.alice, "SELECT (status, reason)::text FROM pgtrickle.pgt_status()") == '(error,"it broke")'
    )


def test_a_result_that_was_dropped_by_hand_is_forgotten(world: World) -> None:
    before = world.leftovers()
    create(world.alice, "counts", QUERY)
    world.alice.execute("DROP TABLE counts CASCADE")
    assert not client.load_stream_tables(world.engine)[0].exists
    assert client.remove_orphans(world.engine) == (1,)
    assert world.leftovers() == {**before, "relations": 1}  # the owner's hidden view, which nothing reads now
