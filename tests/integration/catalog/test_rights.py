"""A hostile role: through a stream table nobody reads, writes or becomes what they may not."""

from __future__ import annotations

import psycopg
import pytest

from runnel.catalog import client

from .conftest import World, create, one

HURT = """
    CREATE FUNCTION evil.hurt(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
        IF current_user !~ 'mallory' THEN RAISE EXCEPTION 'hurt ran as %', current_user; END IF;
        RETURN true;
    END $$
"""


def refusal(conn: psycopg.Connection[object], query: str) -> str:
    with pytest.raises(psycopg.Error) as caught:
        create(conn, "refused", query)
    return str(caught.value.diag.message_primary)


@pytest.fixture
def armed(world: World) -> World:
    """Mallory has a function that would do harm, and a table of her own that the engine may follow."""
    world.mallory.execute(HURT)
    world.mallory.execute("CREATE TABLE evil.bait (id int, name text)")
    world.mallory.execute(f"GRANT SELECT, TRIGGER ON evil.bait TO {world.engine.info.user}".encode())
    world.alice.execute("GRANT USAGE ON SCHEMA app TO PUBLIC")
    world.mallory.execute("GRANT USAGE ON SCHEMA evil TO PUBLIC")
    return world


def problem(world: World) -> str:
    (table,) = client.load_stream_tables(world.engine)
    return str(client.check_rights(world.engine, table.pgt_id))


def test_a_table_that_the_owner_may_not_read(armed: World) -> None:
    mallory = armed.mallory.info.user
    assert refusal(armed.mallory, "SELECT * FROM app.orders") == f"{mallory} may not read app.orders"
    assert (
        refusal(armed.mallory, "SELECT count(*) AS n FROM app.orders") == f"{mallory} may not read app.orders"
    )
    armed.alice.execute(f"GRANT SELECT (id) ON orders TO {mallory}".encode())
    create(armed.mallory, "ids", "SELECT id FROM app.orders")
    armed.mallory.execute("SELECT pgtrickle.drop_stream_table('ids')")
    for query in (
        "SELECT region FROM app.orders",
        "SELECT id FROM app.orders WHERE region = 'x'",
        "SELECT (o).region FROM app.orders o",
        "SELECT count(o) AS n FROM app.orders o",
        "SELECT id FROM evil.bait WHERE id IN (SELECT length(region) FROM app.orders)",
    ):
        assert refusal(armed.mallory, query) == f"{mallory} may not read app.orders"


def test_a_right_that_is_revoked_later(armed: World) -> None:
    mallory = armed.mallory.info.user
    armed.alice.execute(f"GRANT SELECT ON orders TO {mallory}".encode())
    create(armed.mallory, "ids", "SELECT id FROM app.orders")
    assert problem(armed) == "None"
    armed.alice.execute(f"REVOKE SELECT ON orders FROM {mallory}".encode())
    assert f"{mallory} may not read app.orders (GRANT SELECT ON app.orders" in problem(armed)


def test_code_of_a_stranger_in_a_query(armed: World) -> None:
    mallory = armed.mallory
    mallory.execute("CREATE OPERATOR evil.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq)")
    mallory.execute("CREATE DOMAIN evil.label AS text CHECK (evil.hurt(VALUE))")
    mallory.execute("CREATE AGGREGATE evil.worst(int) (SFUNC = int4larger, STYPE = int)")
    mallory.execute("CREATE TYPE evil.span AS RANGE (SUBTYPE = text)")
    mallory.execute("CREATE TYPE evil.mood AS ENUM ('bad', 'worse')")
    mallory.execute("CREATE TYPE evil.pair AS (a int, b evil.label)")
    assert "function evil.hurt(text) belongs to" in refusal(
        mallory, "SELECT id, evil.hurt(name) AS h FROM bait"
    )
    assert "function evil.hurt(text)" in refusal(mallory, "SELECT id FROM bait ORDER BY evil.hurt(name)")
    assert "operator evil.===(integer,integer)" in refusal(mallory, "SELECT id FROM bait WHERE id === 1")
    assert "function evil.worst(integer)" in refusal(mallory, "SELECT worst(id) AS w FROM bait")
    assert "domain evil.label" in refusal(mallory, "SELECT NULL::evil.label AS l, id FROM bait")
    assert "domain evil.label" in refusal(mallory, "SELECT id FROM bait WHERE NULL::evil.label IS NULL")
    assert "domain evil.label" in refusal(mallory, "SELECT NULL::evil.pair AS p, id FROM bait")
    assert "domain evil.label" in refusal(mallory, "SELECT ARRAY[]::evil.label[] AS l, id FROM bait")
    assert "type evil.span" in refusal(mallory, "SELECT NULL::evil.span AS s, id FROM bait")
    create(mallory, "moods", "SELECT id, 'bad'::evil.mood AS mood FROM bait")


def test_code_that_a_source_carries(armed: World) -> None:
    armed.mallory.execute("CREATE INDEX trap ON bait (id) WHERE evil.hurt('x')")
    assert refusal(armed.mallory, "SELECT id FROM bait").startswith(
        "index evil.trap: function evil.hurt(text) belongs"
    )


def test_a_function_given_away_later(armed: World) -> None:
    armed.mallory.execute("CREATE FUNCTION evil.fine(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1'")
    armed.admin.execute(f"ALTER FUNCTION evil.fine OWNER TO {armed.engine.info.user}".encode())
    create(armed.mallory, "fine", "SELECT evil.fine(id) AS f FROM bait")
    assert problem(armed) == "None"
    armed.admin.execute(f"ALTER FUNCTION evil.fine OWNER TO {armed.mallory.info.user}".encode())
    assert "function evil.fine(integer) belongs to" in problem(armed)


@pytest.mark.parametrize("server", [18], indirect=True)
@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("CREATE TRIGGER t BEFORE INSERT ON copy FOR EACH ROW EXECUTE FUNCTION evil.trap()", "has triggers"),
        ("CREATE RULE r AS ON INSERT TO copy DO ALSO SELECT evil.hurt('x')", "has rules"),
        ("CREATE INDEX i ON copy (evil.hurt(name))", "index of stream table evil.copy: function evil.hurt"),
        (
            "ALTER TABLE copy ADD CHECK (evil.hurt(name))",
            "constraint of stream table evil.copy: function evil.hurt",
        ),
        ("ALTER TABLE copy ALTER name SET DEFAULT evil.hurt('x')::text", "default of stream table evil.copy"),
        ("ALTER TABLE copy ADD x int GENERATED ALWAYS AS (1) STORED", "columns of evil.copy are not those"),
        ("ALTER TABLE copy ENABLE ROW LEVEL SECURITY", "row-level security of stream table"),
        (
            "ALTER TABLE copy ADD UNIQUE (id);"
            "CREATE TABLE evil.child (id int REFERENCES copy (id) ON DELETE CASCADE)",
            "has triggers or foreign keys",
        ),
        (
            "CREATE TABLE evil.parent (LIKE copy); ALTER TABLE copy INHERIT evil.parent",
            "no longer a plain table",
        ),
        ("CREATE TABLE evil.child () INHERITS (copy)", "no longer a plain table"),
        ("ALTER TABLE copy SET UNLOGGED", "no longer a plain table"),
        ("ALTER TABLE copy ALTER name TYPE varchar", "columns of evil.copy are not those"),
        ("REVOKE INSERT ON copy FROM runnel_engine", "may not write to evil.copy"),
        ("DROP TABLE copy", "is gone"),
    ],
)
def test_code_planted_on_a_result(armed: World, planted: str, found: str) -> None:
    armed.mallory.execute(
        "CREATE FUNCTION evil.trap() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
    )
    create(armed.mallory, "copy", "SELECT id, name FROM bait")
    (table,) = client.load_stream_tables(armed.engine)
    armed.mallory.execute(planted.encode())
    assert found in str(client.check_rights(armed.engine, table.pgt_id))
    if "gone" not in found:
        assert found in str(client.check_result(armed.engine, table.pgt_id))


def test_a_hidden_view_that_is_replaced(armed: World) -> None:
    create(armed.mallory, "copy", "SELECT id::bigint AS id FROM bait")
    (table,) = client.load_stream_tables(armed.engine)
    view = one(armed.engine, "SELECT %s::regclass::text", table.view_relid)
    armed.mallory.execute(f"CREATE OR REPLACE VIEW {view} AS SELECT id FROM app.orders".encode())
    assert "was replaced and reads other tables" in problem(armed)
    armed.mallory.execute(
        f"CREATE OR REPLACE VIEW {view} AS SELECT id::bigint FROM bait WHERE evil.hurt(name)".encode()
    )
    assert "function evil.hurt(text) belongs to" in problem(armed)


def test_our_trigger_functions_serve_their_own_source_only(armed: World) -> None:
    create(armed.alice, "ids", "SELECT id FROM orders")
    trigger = (
        "CREATE TRIGGER forge AFTER INSERT ON evil.bait REFERENCING NEW TABLE AS new_rows"
        " FOR EACH STATEMENT EXECUTE FUNCTION pgtrickle_changes.capture_1()"
    )
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        armed.mallory.execute(trigger.encode())
    mallory = armed.mallory.info.user
    armed.admin.execute(f"GRANT USAGE ON SCHEMA pgtrickle_changes TO {mallory}".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        armed.mallory.execute(trigger.encode())
    armed.admin.execute(f"GRANT EXECUTE ON FUNCTION pgtrickle_changes.capture_1() TO {mallory}".encode())
    armed.mallory.execute(trigger.encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="serves its own source only"):
        armed.mallory.execute("INSERT INTO evil.bait VALUES (1, 'forged')")
    assert armed.log("app.orders") == []


def test_registering_by_hand(armed: World) -> None:
    """The definer function believes nothing about what it is given."""
    armed.alice.execute("CREATE VIEW pgtrickle_views.hers AS SELECT id FROM orders")
    armed.alice.execute("CREATE TABLE app.hers (id bigint)")
    armed.mallory.execute("CREATE VIEW pgtrickle_views.mine AS SELECT id FROM app.orders")
    armed.mallory.execute("CREATE VIEW evil.elsewhere AS SELECT id FROM evil.bait")
    armed.mallory.execute("CREATE TABLE evil.mine (id bigint)")
    armed.mallory.execute("CREATE TABLE evil.filled AS SELECT 1 AS id")
    armed.mallory.execute("CREATE VIEW pgtrickle_views.bait AS SELECT id FROM evil.bait")
    engine = armed.engine.info.user
    armed.mallory.execute(
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON evil.filled, evil.mine TO {engine}".encode()
    )
    for view, result, message in [
        ("pgtrickle_views.hers", "app.hers", "both your own"),
        ("pgtrickle_views.mine", "app.hers", "both your own"),
        ("evil.elsewhere", "evil.mine", "both your own"),
        ("pgtrickle_views.mine", "evil.mine", "may not read app.orders"),
        ("pgtrickle_views.bait", "evil.mine", "columns of evil.mine are not those of its query"),
        ("pgtrickle_views.bait", "evil.filled", "evil.filled is not empty"),
    ]:
        with pytest.raises(psycopg.Error, match=message):
            armed.mallory.execute(
                "SELECT pgtrickle._register(%s::regclass, %s::regclass, 'q', '1m', 'AUTO', NULL, NULL, '{}')",
                [view, result],
            )
    assert armed.leftovers()["stream tables"] == 0


def test_only_the_owner_changes_a_stream_table(armed: World) -> None:
    create(armed.alice, "ids", "SELECT id FROM orders")
    before = armed.leftovers()
    for call in (
        "drop_stream_table('app.ids')",
        "drop_stream_table('app.ids', true)",
        "_unregister(1)",
        "alter_stream_table('app.ids', schedule => '1s')",
        "_alter_options(1, '1s', NULL, NULL, NULL)",
        "alter_stream_table('app.ids', query => 'SELECT id::bigint FROM evil.bait')",
        "pause_stream_table('app.ids')",
        "resume_stream_table('app.ids')",
        "_set_running(1, false)",
        "refresh_stream_table('app.ids')",
        "refresh_stream_table('app.ids', wait => false)",
        "_request(1, true)",
        "set_setting('lock_timeout', '1h')",
        "attach_lake('lake')",
        "_renew_captures()",
        "_drop_log(1)",
        "_capture('evil.bait'::regclass)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            armed.mallory.execute(f"SELECT pgtrickle.{call}".encode())
    assert armed.leftovers() == before
    assert armed.mallory.execute("SELECT * FROM pgtrickle._answer(1, 0)").fetchall() == []
    assert armed.mallory.execute("SELECT * FROM pgtrickle.pgt_status()").fetchall() == []
    assert armed.mallory.execute("SELECT * FROM pgtrickle.get_refresh_history('app.ids')").fetchall() == []
    assert len(armed.alice.execute("SELECT * FROM pgtrickle.pgt_status()").fetchall()) == 1
    armed.alice.execute("GRANT SELECT ON ids TO PUBLIC")
    assert len(armed.mallory.execute("SELECT * FROM pgtrickle.pgt_status()").fetchall()) == 1


def test_the_tables_of_the_catalog_are_nobodys(armed: World) -> None:
    create(armed.alice, "ids", "SELECT id FROM orders")
    readable = armed.mallory.execute(
        """
        SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname LIKE 'pgtrickle%' AND c.relkind IN ('r', 'v', 'S')
        AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
        """
    ).fetchall()
    assert sorted(row[0] for row in readable) == [
        "pgtrickle.pgt_publications",
        "pgtrickle.pgt_refreshes",
        "pgtrickle.pgt_stream_table_status",
        "pgtrickle.pgt_version",
    ]


def test_every_definer_function_fixes_its_search_path(armed: World) -> None:
    create(armed.alice, "ids", "SELECT id FROM orders")
    loose = armed.engine.execute(
        """
        SELECT oid::regprocedure::text FROM pg_proc
        WHERE pronamespace::regnamespace::text LIKE 'pgtrickle%' AND prosecdef
        AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)
        """
    ).fetchall()
    assert loose == []


def test_objects_planted_in_an_earlier_schema(armed: World) -> None:
    """What we call is never looked up where the caller's search_path leads."""
    for name, arguments in [
        ("format", "text, text, text"),
        ("set_config", "text, text, boolean"),
        ("current_setting", "text"),
        ("current_schemas", "boolean"),
        ("to_regclass", "text"),
        ("parse_ident", "text"),
    ]:
        armed.mallory.execute(
            f"CREATE FUNCTION evil.{name}({arguments}) RETURNS text LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'planted %', current_user; END $$".encode()
        )
    armed.alice.execute("SET search_path = evil, pg_catalog, app")
    create(armed.alice, "app.ids", "SELECT id FROM orders")
    armed.alice.execute("SELECT * FROM pgtrickle.pgt_status()")
    armed.alice.execute("SELECT * FROM pgtrickle.get_refresh_history('app.ids')")
    armed.alice.execute("SELECT pgtrickle.refresh_stream_table('app.ids', wait => false)")
    armed.alice.execute(
        "SELECT pgtrickle.alter_stream_table('app.ids', query => 'SELECT id FROM app.orders')"
    )
    armed.alice.execute("INSERT INTO app.orders (region) VALUES ('eu')")
    armed.alice.execute("SELECT pgtrickle.drop_stream_table('app.ids')")


def test_row_level_security(armed: World) -> None:
    mallory, engine = armed.mallory.info.user, armed.engine.info.user
    armed.alice.execute(f"GRANT SELECT ON orders TO {mallory}".encode())
    armed.alice.execute("ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
    assert f"row-level security of app.orders applies to {mallory}" in refusal(
        armed.mallory, "SELECT id FROM app.orders"
    )
    assert f"hides rows from the engine's role {engine}" in refusal(armed.alice, "SELECT id FROM orders")
    armed.alice.execute("ALTER TABLE orders DISABLE ROW LEVEL SECURITY")
    create(armed.mallory, "ids", "SELECT id FROM app.orders")
    armed.alice.execute("ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
    assert "row-level security of app.orders applies to" in problem(armed)
