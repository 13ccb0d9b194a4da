"""The ducklake tool on a real lake: the documented blocks of SQL as they are written, and what goes wrong."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from tests.integration.playbook.conftest import RunSteps

from runnel.playbook import PlaybookResult
from runnel.playbook.ducklake import pool
from runnel.playbook.ducklake.commands import run_command
from runnel.playbook.ducklake.dialect import translate
from runnel.playbook.ducklake.lake import Lake
from runnel.playbook.ducklake.preparing import prepare
from runnel.playbook.ducklake.snapshots import clamp_of

CREATE = """
CREATE TABLE sales (
  sale_id INTEGER PRIMARY KEY,
  product VARCHAR,
  amount DECIMAL(10,2),
  sale_date TIMESTAMP
);
"""
INSERT = "INSERT INTO sales VALUES (1, 'Widget', 99.99, NOW()), (2, 'Gadget', 149.99, NOW());"


def data(result: PlaybookResult, step: str = "s0") -> Any:
    assert result.ok, result.error
    return result.response(step)["result"]["data"]


def test_basic_table_operations(run_steps: RunSteps) -> None:
    result = run_steps(
        {
            "commands": [CREATE, INSERT, "SELECT * FROM sales ORDER BY sale_id;"],
            "vars": {"sale_count": "{{ result.data.command_2.row_count }}"},
        }
    )
    found = data(result)
    assert found["command_0"]["affected_rows"] == 0
    assert "PRIMARY KEY" in found["command_0"]["warnings"][0]
    assert found["command_1"] == {"command_index": 1, "status": "executed", "affected_rows": 2}
    assert found["command_2"]["columns"] == ["sale_id", "product", "amount", "sale_date"]
    assert found["command_2"]["rows"][0]["amount"] == Decimal("99.99")
    assert result.response("s0")["result"]["commands"][2] == found["command_2"]
    assert result.variables == {"sale_count": 2}
    info = result.response("s0")["catalog_info"]
    assert (info["snapshot_count"], info["table_count"], info["tables"][0]["table_name"]) == (3, 1, "sales")
    assert info["latest_snapshot"]["commit_message"] == "s0"


def test_time_travel(run_steps: RunSteps) -> None:
    """Snapshot 5 is there; a time before the first snapshot is refused by name."""
    inserts = [f"INSERT INTO sales VALUES ({number}, 'x', 1, NOW())" for number in range(8)]
    commands = [
        "SELECT COUNT(*) as current_count FROM sales;",
        "SELECT COUNT(*) as snapshot_count FROM sales FOR SYSTEM_TIME AS OF SNAPSHOT 5;",
        "SELECT count(*) AS n FROM sales s FOR SYSTEM_TIME AS OF '2999-01-06 10:00:00+00';",
    ]
    found = data(run_steps({"commands": [CREATE, *inserts]}, {"commands": commands}), "s1")
    assert found["command_0"]["rows"] == [{"current_count": 8}]
    assert found["command_1"]["rows"] == [{"snapshot_count": 4}]
    assert found["command_2"]["rows"] == [{"n": 8}]
    early = run_steps({"command": "SELECT * FROM sales FOR SYSTEM_TIME AS OF '2001-01-06 10:00:00+00';"})
    assert early.status == "error"
    assert "snapshot" in str(early.error)


def test_catalog_introspection(run_steps: RunSteps) -> None:
    commands = [
        "SELECT * FROM ducklake_snapshots('analytics') ORDER BY snapshot_id DESC LIMIT 10;",
        "SELECT * FROM ducklake_table_info('analytics');",
        "SELECT * FROM ducklake_table_changes('analytics', 'main', 'sales', 0, 10);",
    ]
    found = data(run_steps({"commands": [CREATE, INSERT]}, {"commands": commands}), "s1")
    assert [row["snapshot_id"] for row in found["command_0"]["rows"]] == [2, 1, 0]
    assert found["command_0"]["rows"][0]["author"] == "runnel/playbook"
    assert found["command_1"]["rows"][0]["table_name"] == "sales"
    assert [row["change_type"] for row in found["command_2"]["rows"]] == ["insert", "insert"]
    assert found["command_2"]["warnings"] == ["snapshots 0 to 10: the lake has 0 to 2 of them"]


def test_maintenance_operations(run_steps: RunSteps) -> None:
    commands = [
        "CALL ducklake_expire_snapshots('analytics', older_than => NOW() - INTERVAL 7 DAY);",
        "CALL ducklake_cleanup_old_files('analytics', dry_run => false);",
        "CALL ducklake_merge_adjacent_files('analytics');",
    ]
    found = data(run_steps({"commands": [CREATE, INSERT]}, {"commands": commands}), "s1")
    assert "cleanup_all" in found["command_1"]["warnings"][0]


def test_rows_of_every_kind_of_query(run_steps: RunSteps) -> None:
    commands = [
        CREATE,
        INSERT,
        "WITH a AS (SELECT 1 AS x) SELECT x, x FROM a",
        "SHOW TABLES",
        "UPDATE sales SET product = 'y' WHERE sale_id < 3; DELETE FROM sales WHERE sale_id = 1; FROM sales",
        "-- nothing",
        "CREATE TABLE copied AS FROM sales",
        "MERGE INTO copied USING sales ON copied.sale_id = sales.sale_id WHEN MATCHED THEN DELETE",
    ]
    found = data(run_steps({"commands": commands}))
    assert found["command_2"]["rows"] == [{"x": 1, "x_1": 1}]
    assert found["command_3"]["rows"] == [{"name": "sales"}]
    assert (found["command_4"]["affected_rows"], found["command_4"]["row_count"]) == (3, 1)
    assert found["command_5"]["affected_rows"] == 0
    assert found["command_6"]["affected_rows"] == 1
    assert found["command_7"]["affected_rows"] == 1


def test_a_command_is_all_or_nothing_and_stops_the_step(run_steps: RunSteps) -> None:
    first = run_steps({"command": CREATE})
    assert first.ok
    failed = run_steps(
        {"commands": [INSERT + " INSERT INTO sales VALUES ('x', 'y', 1, NOW())", INSERT]},
        {"command": INSERT},
    )
    assert failed.status == "error"
    assert [step.step for step in failed.steps] == ["s0"]
    assert str(failed.error).startswith('step "s0": command 0 failed: Could not convert string')
    after = run_steps({"command": "SELECT count(*) AS n FROM sales"})
    assert data(after)["command_0"]["rows"] == [{"n": 0}]


def test_a_failed_step_goes_where_a_route_asks_for_it(run_steps: RunSteps) -> None:
    steps = (
        {
            "command": "SELECT * FROM nothing_here",
            "next": [{"step": "s2", "when": "{{ error }}"}, {"step": "s1"}],
        },
        {"command": "SELECT 1 AS a", "next": []},
        {"command": "SELECT '{{ s0.status }}' AS status"},
    )
    result = run_steps(*steps)
    assert [step.step for step in result.steps] == ["s0", "s2"]
    assert data(result, "s2")["command_0"]["rows"] == [{"status": "error"}]


def test_a_transaction_of_the_users_own(run_steps: RunSteps) -> None:
    own = "BEGIN; INSERT INTO sales VALUES (7, 'z', 1, NOW()); ROLLBACK; SELECT count(*) AS n FROM sales"
    assert data(run_steps({"commands": [CREATE, own]}))["command_1"]["rows"] == [{"n": 0}]


def test_a_conflict_is_tried_again(lake: Lake) -> None:
    """Four writers change one row at once, which the lake refuses to all but one of them."""
    with pool.session(lake, {}) as session:
        clamp = clamp_of(session)
        run_command(session, translate("CREATE TABLE counters (n INTEGER)", clamp), "x")
        run_command(session, translate("INSERT INTO counters VALUES (0)", clamp), "x")

    def count_up(_: int) -> None:
        with pool.session(lake, {}) as own:
            for _ in range(3):
                run_command(own, translate("UPDATE counters SET n = n + 1", clamp), "x")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(count_up, range(4)))
    with pool.session(lake, {}) as session:
        assert session.cursor.execute("FROM counters").fetchall() == [(12,)]


def test_two_catalogs_of_one_database_are_two_lakes(database: str, tmp_path: Path) -> None:
    first = prepare(Lake(database, "one", str(tmp_path / "one")))
    second = prepare(Lake(database, "two", str(tmp_path / "two")))
    with pool.session(first, {}) as session:
        run_command(session, translate("CREATE TABLE t (a INT)", clamp_of(session)), "x")
    with pool.session(second, {}) as session:
        assert session.cursor.execute("SHOW TABLES").fetchall() == []


def test_a_lake_that_lies_in_public_is_found(database: str, tmp_path: Path, connect: Any) -> None:
    path = str(tmp_path / "lake")
    made = prepare(Lake(database, "mine", path, metadata_schema="public"))
    pool.close_all()
    found = prepare(Lake(database, "analytics", path))
    assert (made.schema, found.schema) == ("public", "public")
    schemas = connect(database).execute(
        "SELECT nspname FROM pg_namespace WHERE nspname LIKE '\\_\\_ducklake%'"
    )
    assert schemas.fetchall() == []


def test_a_lake_outlives_its_connections(lake: Lake, database: str, connect: Any) -> None:
    with pool.session(lake, {}) as session:
        run_command(session, translate("CREATE TABLE t (a INT)", clamp_of(session)), "x")
    connect(database, autocommit=True).execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid()"
    )
    with pool.session(lake, {}) as session:
        assert clamp_of(session)(0, 9) == (0, 1)
        assert run_command(session, translate("FROM t", clamp_of(session)), "x").rows == ()


def test_plain_duckdb_reads_what_was_written(run_steps: RunSteps, database: str, tmp_path: Path) -> None:
    assert run_steps({"commands": [CREATE, INSERT]}).ok
    judge = pool.instance(
        Lake(database, "judge", str(tmp_path / "lake"), "__ducklake_metadata_analytics", create=False)
    )
    assert judge.duck.execute("SELECT sale_id, amount FROM judge.sales ORDER BY 1").fetchall() == [
        (1, Decimal("99.99")),
        (2, Decimal("149.99")),
    ]


@pytest.mark.parametrize("fields", [{"memory_limit": "200MB", "threads": 1}, {"use_catalog": False}])
def test_optional_fields(run_steps: RunSteps, fields: dict[str, Any]) -> None:
    commands = ["CREATE TABLE analytics.t (a INT)", "SELECT current_setting('threads') AS n"]
    found = data(run_steps({"commands": commands, **fields}))
    assert "threads" not in fields or found["command_1"]["rows"] == [{"n": 1}]


def test_duckdb_is_the_version_of_its_extensions(lake: Lake) -> None:
    assert isinstance(pool.instance(lake).duck, duckdb.DuckDBPyConnection)
    with psycopg.connect(lake.conninfo) as connection:
        [(version,)] = connection.execute(
            f"SELECT value FROM {lake.schema}.ducklake_metadata WHERE key = 'version'"
        ).fetchall()
    assert version == "1.0"
