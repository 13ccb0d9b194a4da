"""Bad input: one clear message with what to do, and nothing half made."""

from __future__ import annotations

import psycopg
import pytest

from .conftest import World, create

SETUP = """
    CREATE TABLE part (a int) PARTITION BY LIST (a);
    CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
    CREATE TABLE parent (a int);
    CREATE TABLE child () INHERITS (parent);
    CREATE UNLOGGED TABLE unlogged (a int);
    CREATE MATERIALIZED VIEW mat AS SELECT 1 AS a;
    CREATE VIEW plain_view AS SELECT 1 AS a;
    CREATE TEMP TABLE scratch (a int);
    CREATE TABLE guarded (a int);
    ALTER TABLE guarded ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
"""

QUERIES = [
    ("SELECT a FROM nowhere", 'relation "nowhere" does not exist', "search_path"),
    ("SELECT region FROM FROM orders", "syntax error", None),
    ("SELECT nope FROM orders", 'column "nope" does not exist', None),
    ("", "the query is empty", "SELECT"),
    ("SELECT id FROM orders; SELECT 1", "must be one SELECT", "one stream table"),
    ("DELETE FROM orders RETURNING id", "must be one SELECT", "one stream table"),
    ("WITH gone AS (DELETE FROM orders RETURNING id) SELECT id FROM gone", "data-modifying", None),
    ("SELECT id, 1 + 1 FROM orders", "column 2 of the query has no name", "AS some_name"),
    ("SELECT id, region AS id FROM orders", 'column "id" specified more than once', None),
    ("SELECT id FROM orders FOR UPDATE", "cannot lock rows", "FOR UPDATE"),
    ("SELECT 1 AS one", "reads no table", "read one"),
    ("SELECT random() AS r, id FROM orders", "function random() is volatile", "store its value"),
    ("SELECT id FROM orders WHERE total_usd > random()", "random() is volatile", "store its value"),
    ("SELECT id FROM orders ORDER BY gen_random_uuid()", "gen_random_uuid() is volatile", "store its value"),
    ("SELECT clock_timestamp() AS t, id FROM orders", "clock_timestamp() is volatile", "store its value"),
    ("SELECT id, session_user AS who FROM orders", "session_user", "engine evaluates"),
    ("SELECT oid FROM pg_class", "pg_class is a system catalog", "table of your own"),
    ("SELECT id FROM orders WHERE id IN (SELECT oid::bigint FROM pg_class)", "pg_class is a system", "own"),
    ("SELECT table_name FROM information_schema.tables", "is a system catalog", "table of your own"),
    ("SELECT version FROM pgtrickle.pgt_version", "belongs to pgtrickle itself", "plain query"),
    ("SELECT a FROM scratch", "temporary table scratch cannot be a source", "plain table"),
    ("SELECT a FROM part", "partitioned table app.part cannot be a source yet", "plain table"),
    ("SELECT a FROM part_1", "partition app.part_1 cannot be a source yet", "plain table"),
    ("SELECT a FROM parent", "takes part in inheritance", "plain table"),
    ("SELECT a FROM child", "takes part in inheritance", "plain table"),
    ("SELECT a FROM unlogged", "unlogged table app.unlogged", "SET LOGGED"),
    ("SELECT a FROM mat", "materialized view app.mat", "make a stream table"),
    ("SELECT a FROM plain_view", "view app.plain_view cannot be a source yet", "own query in its place"),
    ("SELECT a FROM guarded", "row-level security of app.guarded", "without row-level security"),
]

OPTIONS = [
    ({"schedule": "often"}, "schedule 'often' cannot be read", "'5s'"),
    ({"schedule": "0s"}, "schedule '0s' cannot be read", "'5s'"),
    ({"schedule": "-1s"}, "schedule '-1s' cannot be read", "'5s'"),
    ({"schedule": "*/5 * * * *"}, "cron schedules are not offered yet", "'5s'"),
    ({"refresh_mode": "IMMEDIATE"}, "refresh mode 'IMMEDIATE' is not offered", "refresh_stream_table"),
    ({"refresh_mode": "sometimes"}, "refresh mode 'sometimes' is not offered", "AUTO"),
    ({"sink": "kafka"}, "sink 'kafka' is not offered", "ducklake"),
    ({"sink": "ducklake", "ducklake_sink_mode": "upsert"}, "'upsert' is not offered", "append"),
    ({"ducklake_sink_mode": "append"}, "without a sink", "ducklake"),
]

NAMES = [
    ("orders", "relation app.orders already exists"),
    ("nowhere.x", "schema nowhere does not exist"),
    ("pg_catalog.x", "cannot live in schema pg_catalog"),
    ("pgtrickle.x", "cannot live in schema pgtrickle"),
    ("", "is not a name"),
    ("a.b.c", "is not a name"),
    ("a b", "is not a name"),
    ("x" * 64, "is not a name"),
]

GRANTS = [
    (
        "SELECT ON orders",
        "engine's role {engine} may not read",
        "GRANT SELECT, TRIGGER ON app.orders TO {engine};",
    ),
    (
        "TRIGGER ON orders",
        "may not put a trigger on app.orders",
        "GRANT SELECT, TRIGGER ON app.orders TO {engine};",
    ),
    ("USAGE ON SCHEMA app", "may not use schema app", "GRANT USAGE ON SCHEMA app TO {engine};"),
]


@pytest.fixture
def strange_world(world: World) -> World:
    world.alice.execute(SETUP)
    world.alice.execute(
        f"GRANT SELECT, TRIGGER ON ALL TABLES IN SCHEMA app TO {world.engine.info.user}".encode()
    )
    return world


def test_queries(strange_world: World) -> None:
    before = strange_world.leftovers()
    for query, message, hint in QUERIES:
        with pytest.raises(psycopg.Error) as caught:
            create(strange_world.alice, "refused", query)
        assert message in str(caught.value.diag.message_primary), query
        assert hint is None or hint in str(caught.value.diag.message_hint), query
    assert strange_world.leftovers() == before


def test_a_syntax_error_keeps_its_place_in_the_users_text(world: World) -> None:
    with pytest.raises(psycopg.errors.SyntaxError) as caught:
        create(world.alice, "refused", "SELECT region\nFROM FROM orders")
    assert caught.value.diag.internal_query == "SELECT region\nFROM FROM orders"
    assert caught.value.diag.internal_position == "20"


def test_an_unknown_table_is_pointed_at(world: World) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable) as caught:
        create(world.alice, "refused", "SELECT region\nFROM ordrs")
    assert caught.value.diag.message_detail == "Line 2 of the query: FROM ordrs"


def test_options(world: World) -> None:
    for options, message, hint in OPTIONS:
        with pytest.raises(psycopg.Error) as caught:
            create(world.alice, "refused", "SELECT id FROM orders", **options)
        assert message in str(caught.value.diag.message_primary)
        assert hint in str(caught.value.diag.message_hint)


def test_names(world: World) -> None:
    for name, message in NAMES:
        with pytest.raises(psycopg.Error, match=message):
            create(world.alice, name, "SELECT id FROM orders")


def test_virtual_generated_columns(world: World) -> None:
    if world.engine.info.server_version < 180000:
        kind, refusal = "STORED", None
    else:
        kind, refusal = "VIRTUAL", "column twice of app.computed is a virtual generated column"
    world.alice.execute(
        f"CREATE TABLE computed (a int, twice int GENERATED ALWAYS AS (a * 2) {kind})".encode()
    )
    world.alice.execute(f"GRANT SELECT, TRIGGER ON computed TO {world.engine.info.user}".encode())
    create(world.alice, "plain_column", "SELECT a FROM computed")
    world.alice.execute("INSERT INTO computed (a) VALUES (3)")
    if refusal is None:
        assert world.log("app.computed") == [(1, 3, 6)]
        return
    assert world.log("app.computed") == [(1, 3)]
    with pytest.raises(psycopg.Error, match=refusal):
        create(world.alice, "refused", "SELECT twice FROM computed")


def test_what_the_engine_lacks_is_the_grant_to_type(world: World) -> None:
    engine = world.engine.info.user
    for number, (revoke, message, hint) in enumerate(GRANTS):
        world.alice.execute(f"REVOKE {revoke} FROM {engine}".encode())
        with pytest.raises(psycopg.Error) as caught:
            create(world.alice, "refused", "SELECT id FROM orders")
        assert message.format(engine=engine) in str(caught.value.diag.message_primary)
        assert caught.value.diag.message_hint == hint.format(engine=engine)
        world.alice.execute(str(caught.value.diag.message_hint).encode())
        create(world.alice, f"accepted_{number}", "SELECT id FROM orders")
        world.alice.execute(f"SELECT pgtrickle.drop_stream_table('accepted_{number}')".encode())
