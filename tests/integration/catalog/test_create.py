"""What creating a stream table makes, and that a rollback leaves nothing of it."""

from __future__ import annotations

import pytest

from runnel.catalog import client

from .conftest import World, create, one

QUERY = "SELECT region, sum(total_usd) AS revenue, count(*) AS n FROM orders GROUP BY region"


def test_the_result_has_exactly_the_columns_of_the_query(world: World) -> None:
    world.alice.execute("SET DateStyle = 'German, DMY'")
    create(world.alice, "revenue", QUERY + " ;\n", schedule="200ms", refresh_mode="differential")
    (table,) = client.load_stream_tables(world.engine)
    assert (table.schema, table.name, table.owner) == ("app", "revenue", world.alice.info.user)
    assert [(c.name, c.type) for c in table.columns] == [
        ("region", "text"),
        ("revenue", "numeric"),
        ("n", "bigint"),
    ]
    assert (table.schedule_ms, table.refresh_mode, table.status) == (200, "DIFFERENTIAL", "pending")
    assert (table.is_populated, table.exists, table.has_subscribers) == (False, True, False)
    assert table.query == QUERY
    assert table.settings["search_path"] == "app, public"
    assert table.settings["DateStyle"] == "ISO, DMY"
    (source,) = table.dependencies
    assert (source.kind, source.schema, source.name, source.consumed) == ("table", "app", "orders", None)
    assert [(c.attnum, c.name, c.type, c.not_null) for c in source.columns] == [
        (1, "id", "bigint", True),
        (2, "region", "text", False),
        (3, "status", "text", True),
        (4, "total_usd", "numeric(10,2)", False),
    ]
    assert client.check_rights(world.engine, table.pgt_id) is None
    assert client.check_result(world.engine, table.pgt_id) is None
    assert "FROM app.orders" in client.view_definition(world.engine, table.view_relid)
    assert one(world.alice, "SHOW search_path") == "app, public"
    assert one(world.alice, "SHOW lock_timeout") == "0"


def test_the_calls_of_the_documents_run_as_they_are_written(world: World) -> None:
    world.alice.execute("CREATE TABLE products (id bigint, category text)")
    world.alice.execute(f"GRANT SELECT, TRIGGER ON products TO {world.engine.info.user}".encode())
    world.alice.execute("ALTER TABLE orders ADD COLUMN ordered_at timestamptz, ADD COLUMN customer_id bigint")
    world.alice.execute("ALTER TABLE orders ADD COLUMN product_id bigint")
    world.alice.execute(
        """
        SELECT pgtrickle.create_stream_table(
            name => 'revenue_by_day',
            query => $$
                SELECT date_trunc('day', o.ordered_at) AS day, p.category, SUM(o.total_usd) AS revenue_usd,
                       COUNT(*) AS order_count, COUNT(DISTINCT o.customer_id) AS unique_customers
                FROM orders o JOIN products p ON p.id = o.product_id
                WHERE o.status = 'shipped' GROUP BY date_trunc('day', o.ordered_at), p.category $$,
            schedule => '10s', refresh_mode => 'DIFFERENTIAL',
            sink => 'ducklake', ducklake_sink_mode => 'replace')
        """
    )
    (table,) = client.load_stream_tables(world.engine)
    assert (table.sink, table.sink_mode, len(table.dependencies)) == ("ducklake", "replace", 2)
    assert one(world.engine, "SELECT published FROM pgtrickle.pgt_sinks") == 0


def test_an_unqualified_name_goes_where_the_caller_may_create(world: World) -> None:
    world.alice.execute("SET search_path = evil, public, app")
    create(world.alice, "counts", "SELECT count(*) AS n FROM app.orders")
    assert one(world.alice, "SELECT to_regclass('app.counts') IS NOT NULL")


@pytest.mark.parametrize("source_exists", [False, True])
def test_a_rollback_leaves_nothing(world: World, source_exists: bool) -> None:
    if source_exists:
        create(world.alice, "kept", "SELECT id FROM orders")
    before = world.leftovers()
    with world.alice.transaction(force_rollback=True):
        create(world.alice, "revenue", QUERY)
        create(world.alice, "on_top", "SELECT region FROM revenue")
    assert world.leftovers() == before
    assert one(world.alice, "SELECT to_regclass('app.revenue') IS NULL")
    create(world.alice, "revenue", QUERY)


def test_one_capture_serves_all_stream_tables(world: World) -> None:
    create(world.alice, "revenue", QUERY)
    create(world.alice, "ids", "SELECT id FROM orders")
    assert world.leftovers()["captures"] == 1
    assert world.leftovers()["triggers"] == 4


def test_a_stream_table_over_a_stream_table(world: World) -> None:
    create(world.alice, "revenue", QUERY)
    create(world.alice, "regions", "SELECT region FROM revenue")
    upstream, subscriber = client.load_stream_tables(world.engine)
    assert (upstream.has_subscribers, upstream.generation) == (True, 2)
    (source,) = subscriber.dependencies
    assert (source.kind, source.upstream_id, source.consumed) == ("stream", upstream.pgt_id, None)


def test_columns_of_every_kind_keep_type_and_collation(world: World) -> None:
    world.alice.execute(
        'CREATE TABLE wide (n numeric(12, 3), v varchar(7), c char(3), b bit(4), t text COLLATE "C", a int[],'
        ' "Id" int, id int, ts timestamptz(3), d date, i interval, u uuid, j jsonb, y bytea)'
    )
    world.alice.execute(f"GRANT SELECT, TRIGGER ON wide TO {world.engine.info.user}".encode())
    create(world.alice, "copy", "SELECT * FROM wide")
    (table,) = client.load_stream_tables(world.engine)
    assert [(c.name, c.type, c.collation) for c in table.columns] == [
        (c.name, c.type, c.collation) for c in table.dependencies[0].columns
    ]
    world.alice.execute("INSERT INTO wide (n, v, c, b, \"Id\", id) VALUES (1.5, 'abc', 'x', B'1010', 1, 2)")
    assert world.log("app.wide")[0][:5] == (1, pytest.approx(1.5), "abc", "x  ", "1010")
