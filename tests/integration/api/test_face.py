"""The public Python face on a real database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import conninfo, sql
from tests.conftest import Connect, Login

import runnel
from runnel.api import Runnel
from runnel.errors import SchemaError, TransientError, UserError
from runnel.servers import EmbeddedPostgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUMS = "SELECT region, sum(total) AS revenue FROM orders GROUP BY region"


@pytest.fixture
def conn(runnel_db: str, connect: Connect) -> psycopg.Connection[Any]:
    conn = connect(runnel_db, autocommit=True)
    conn.execute("CREATE TABLE orders (id int PRIMARY KEY, region text, total numeric(10,2))")
    conn.execute("INSERT INTO orders VALUES (1, 'north', 10), (2, 'south', 20)")
    return conn


@pytest.fixture
def rn(runnel_db: str, conn: psycopg.Connection[Any], spark: SparkSession) -> Iterator[Runnel]:
    with runnel.connect(runnel_db, spark) as rn:
        yield rn


def test_the_life_of_a_stream_table(
    rn: Runnel, conn: psycopg.Connection[Any], spark: SparkSession, tmp_path: Path
) -> None:
    assert rn.install(data_path=str(tmp_path / "lake")).missing_grants == ()
    assert rn.create_stream_table("sums", SUMS, schedule="5s", sink="ducklake") == "public.sums"
    [status] = rn.status()
    assert (status.name, status.status, status.is_populated, status.schedule) == (
        "public.sums",
        "pending",
        False,
        "5s",
    )
    first = rn.refresh("sums")
    assert (first.refreshed, first.refresh_number, first.mode) == (True, 1, "FULL")
    assert not rn.refresh("public.sums").refreshed
    conn.execute("INSERT INTO orders VALUES (3, 'north', 5)")
    [second] = rn.refresh_all()
    assert (second.refresh_number, second.mode, second.rows_in) == (2, "DIFFERENTIAL", 1)
    assert [(r.refresh_number, r.status) for r in rn.history("sums")] == [(2, "completed"), (1, "completed")]
    published = rn.publish("sums")
    assert published is not None
    assert published.upto == 2
    assert rn.publish("sums") is None
    assert rn.verify("sums").ok
    conn.execute("UPDATE sums SET revenue = 0 WHERE region = 'south'")
    verdict = rn.verify("sums")
    assert (verdict.ok, verdict.missing, verdict.extra) == (False, 1, 1)
    assert rn.refresh("sums", full=True).mode == "FULL"
    assert rn.verify("sums").ok
    assert "changes_" in rn.explain("sums")
    rn.alter_stream_table("sums", schedule="10s", sink="none")
    assert (rn.status()[0].schedule, rn.status()[0].sink) == ("10s", None)
    rn.drop_stream_table("sums")
    assert rn.status() == ()
    rn.close()
    assert spark.range(1).count() == 1  # the session was ours to give and is still there


def test_what_cannot_be_maintained_fails_at_once_and_leaves_nothing(
    rn: Runnel, conn: psycopg.Connection[Any]
) -> None:
    with pytest.raises(UserError, match=r"not maintained incrementally \(line 2, column \d+\)"):
        rn.create_stream_table(
            "ranks",
            "SELECT id,\n    rank() OVER (ORDER BY id) AS r\nFROM orders",
            refresh_mode="DIFFERENTIAL",
        )
    assert conn.execute("SELECT to_regclass('ranks')").fetchone() == (None,)
    rn.create_stream_table("ranks", "SELECT id, rank() OVER (ORDER BY id) AS r FROM orders")
    assert rn.refresh("ranks").mode == "FULL"
    with pytest.raises(UserError, match="cannot be maintained incrementally"):
        rn.alter_stream_table("ranks", refresh_mode="DIFFERENTIAL")
    assert rn.status()[0].refresh_mode == "AUTO"


@pytest.mark.parametrize(
    ("query", "options", "says"),
    [
        ("SELECT a FROM nowhere", {}, 'relation "nowhere" does not exist'),
        (
            "SELECT region,\n  totl FROM orders",
            {},
            r'column "totl" does not exist.*\n.*line 2 of the query:   totl',
        ),
        ("SELECT id FROM orders", {"schedule": "soon"}, "schedule 'soon' cannot be read"),
        ("SELECT id FROM orders", {"refresh_mode": "SOMETIMES"}, "'SOMETIMES'"),
        ("SELECT id, random() AS r FROM orders", {}, "random"),
        ("SELECT relname FROM pg_class", {}, "pg_class"),
    ],
)
def test_bad_input_is_one_clear_error(rn: Runnel, query: str, options: dict[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        rn.create_stream_table("s", query, **options)  # type: ignore[arg-type]
    assert rn.status() == ()


def test_names(rn: Runnel) -> None:
    with pytest.raises(UserError, match="no stream table") as error:
        rn.refresh("nothing")
    assert "create one" in str(error.value)
    rn.create_stream_table('"My sums"', SUMS)
    for name in ("orders", "a.b.c.d", "my sums", ""):
        with pytest.raises(UserError, match="no stream table") as error:
            rn.history(name)
        assert 'public."My sums"' in str(error.value)
    assert rn.history('"My sums"') == ()


def test_refresh_all_reports_each_by_itself(rn: Runnel, conn: psycopg.Connection[Any]) -> None:
    conn.execute("CREATE TABLE prices (id int PRIMARY KEY, price int)")
    conn.execute("INSERT INTO prices VALUES (1, 0)")
    rn.create_stream_table("shares", "SELECT id, 100 / price AS share FROM prices")
    rn.create_stream_table("sums", SUMS)
    outcomes = {outcome.name: outcome for outcome in rn.refresh_all()}
    assert outcomes["public.sums"].refreshed
    assert "division by zero" in str(outcomes["public.shares"].error)
    assert rn.status()[0].last_error is not None


def test_whoever_is_not_the_engine_creates_too(
    server: EmbeddedPostgres, runnel_db: str, conn: psycopg.Connection[Any], login: Login, rn: Runnel
) -> None:
    alice_dsn = login(runnel_db, "alice")
    alice_name = str(conninfo.conninfo_to_dict(alice_dsn)["user"])
    for grant in ("SELECT ON orders", "USAGE, CREATE ON SCHEMA public"):
        conn.execute(sql.SQL("GRANT {} TO {}").format(sql.SQL(grant), sql.Identifier(alice_name)))
    with psycopg.connect(server.dsn) as admin:
        engine = sql.Identifier(str(conninfo.conninfo_to_dict(runnel_db)["user"]))
        admin.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(alice_name), engine))
    with runnel.connect(alice_dsn) as alice:
        assert alice.create_stream_table("hers", SUMS) == "public.hers"
        assert [status.owner for status in alice.status()] == [alice_name]
    assert rn.refresh("hers").refreshed


def test_a_wrong_database_is_told_before_spark_starts(database: str) -> None:
    with runnel.connect(database) as rn:
        with pytest.raises(SchemaError, match="not installed"):
            rn.run()
        with pytest.raises(SchemaError, match="not installed"):
            rn.status()
    with runnel.connect("host=127.0.0.1 port=1 password=secret-word") as rn:
        with pytest.raises(TransientError) as error:
            rn.refresh_all()
        assert "secret-word" not in str(error.value)
    assert "secret-word" not in repr(rn)
