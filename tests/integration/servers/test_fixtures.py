"""The fixtures that every other suite stands on."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest


@pytest.mark.parametrize("server", [16, 18], indirect=True)
def test_a_fresh_database_is_empty_and_takes_what_a_superuser_may(
    server: Any, database: str, connect: Any
) -> None:
    connection = connect(database, autocommit=True)
    assert connection.execute(
        "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    ).fetchone() == (0,)
    assert connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() == (
        True,
    )
    assert connection.info.server_version // 10000 == server._version


def test_login_makes_a_role_with_only_the_options_it_was_given(
    database: str, login: Any, connect: Any
) -> None:
    alice = connect(login(database, "alice", "CREATEROLE"))
    rights = alice.execute("SELECT rolsuper, rolcreaterole FROM pg_roles WHERE rolname = current_user")
    assert rights.fetchone() == (False, True)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        alice.execute("CREATE TABLE t (a int)")


def test_the_spark_session_computes_in_python_workers(spark: Any) -> None:
    rows = spark.range(4).mapInArrow(lambda batches: batches, "id long").collect()
    assert sorted(row.id for row in rows) == [0, 1, 2, 3]


def test_the_installed_database_belongs_to_an_engine_that_is_no_superuser(
    runnel_db: str, connect: Any
) -> None:
    connection = connect(runnel_db)
    assert connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() == (
        False,
    )
    assert connection.execute("SELECT count(*) FROM pgtrickle.pgt_version").fetchone() == (1,)
