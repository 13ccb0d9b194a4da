"""Installing: once, again, by whom, and what it says when it cannot."""

from __future__ import annotations

import psycopg
import pytest

from runnel.catalog import install as installing
from runnel.catalog.install import install, missing_grants
from runnel.errors import SchemaError, TransientError, UserError

from .conftest import World, create, one


def test_a_second_installation_changes_nothing(world: World) -> None:
    create(world.alice, "ids", "SELECT id FROM orders")
    before = world.leftovers()
    report = install(world.engine_dsn)
    assert (report.fresh, report.engine_role) == (False, world.engine.info.user)
    assert world.leftovers() == before


def test_another_version_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "package_version", lambda: "9.9.9")
    for call in (install, missing_grants):
        with pytest.raises(SchemaError, match=r"has version .*, this command 9.9.9") as caught:
            call(world.engine_dsn)
        assert caught.value.hint


def test_who_may_not_create_schemas_is_told_the_grant(world: World, connect: object) -> None:
    world.admin.execute("DROP SCHEMA pgtrickle, pgtrickle_changes, pgtrickle_state, pgtrickle_views CASCADE")
    with pytest.raises(UserError) as caught:
        install(world.alice_dsn)
    database, role = world.alice.info.dbname, world.alice.info.user
    assert caught.value.hint == f"GRANT CREATE ON DATABASE {database} TO {role};"
    world.admin.execute("CREATE SCHEMA pgtrickle_state")
    with pytest.raises(SchemaError, match="already exists"):
        install(world.engine_dsn)
    assert one(world.admin, "SELECT to_regnamespace('pgtrickle') IS NULL")
    with pytest.raises(SchemaError, match="not installed") as missing:
        missing_grants(world.engine_dsn)
    assert "runnel init" in str(missing.value.hint)


def test_another_role_is_refused(world: World) -> None:
    with pytest.raises(UserError, match=f"belongs to {world.engine.info.user}"):
        install(world.alice_dsn)


def test_missing_grants_are_lines_to_type(world: World) -> None:
    assert missing_grants(world.engine_dsn) == []
    world.alice.execute("CREATE TABLE more (id int)")
    world.mallory.execute(f"REVOKE ALL ON SCHEMA evil FROM {world.engine.info.user}".encode())
    world.mallory.execute("CREATE TABLE bait (id int)")
    create(world.alice, "ids", "SELECT id FROM orders")
    world.alice.execute(f"REVOKE UPDATE ON ids FROM {world.engine.info.user}".encode())
    missing = missing_grants(world.engine_dsn)
    role = world.engine.info.user
    assert missing == [
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON app.ids TO {role};",
        f"GRANT SELECT, TRIGGER ON ALL TABLES IN SCHEMA app TO {role};",
        f"GRANT SELECT, TRIGGER ON ALL TABLES IN SCHEMA evil TO {role};",
        f"GRANT USAGE ON SCHEMA evil TO {role};",
    ]
    for line in missing:
        world.admin.execute(line.encode())
    assert missing_grants(world.engine_dsn) == []


def test_the_engine_acts_for_the_owner_of_a_stream_table(world: World) -> None:
    role, alice = world.engine.info.user, world.alice.info.user
    world.admin.execute(f"REVOKE {alice} FROM {role}".encode())
    assert missing_grants(world.engine_dsn) == [f"GRANT {alice} TO {role};"]
    with pytest.raises(psycopg.Error, match="may not act for") as caught:
        create(world.alice, "ids", "SELECT id FROM orders")
    assert caught.value.diag.message_hint == f"GRANT {alice} TO {role};"


def test_connections_fail_without_a_secret(world: World) -> None:
    with pytest.raises(TransientError) as unreachable:
        install("host=127.0.0.1 port=1 dbname=x user=y password=s3cret connect_timeout=2")
    with pytest.raises(UserError) as unreadable:
        install("password=s3cret nonsense")
    for error in (unreachable, unreadable):
        assert "s3cret" not in str(error.value)
        assert error.value.__cause__ is None
        assert error.value.hint


def test_the_engine_is_no_superuser(world: World) -> None:
    assert not one(world.engine, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        world.engine.execute("SELECT * FROM pg_authid")
