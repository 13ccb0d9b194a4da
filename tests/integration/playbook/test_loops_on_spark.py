"""Loops in Spark's workers: every item once, whatever fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession
from tests.integration.playbook.conftest import RunSteps

from runnel.playbook import Event
from runnel.playbook.ducklake import pool
from runnel.playbook.ducklake.items import Item
from runnel.playbook.ducklake.lake import Lake
from runnel.playbook.ducklake.ledger import Ledger
from runnel.playbook.ducklake.snapshots import newest_snapshot
from runnel.playbook.ducklake.worker import Work, run_share

CREATE = "CREATE TABLE t (id INTEGER, worker VARCHAR)"
INSERT = "INSERT INTO t VALUES ({{ x }}, current_setting('worker_id'))"


def rows(lake: Lake) -> list[int]:
    with pool.session(lake, {}) as session:
        return [row[0] for row in session.cursor.execute("SELECT id FROM t ORDER BY id").fetchall()]


def loop(collection: Any, mode: str = "async", **more: Any) -> dict[str, Any]:
    return {"collection": collection, "element": "x", "mode": mode, **more}


def test_every_item_is_written_by_the_worker_that_the_response_names(
    run_steps: RunSteps, spark: SparkSession, lake: Lake
) -> None:
    events: list[Event] = []
    result = run_steps(
        {"command": CREATE},
        {"command": INSERT, "loop": loop(list(range(20)))},
        spark=spark,
        on_event=events.append,
    )
    assert result.ok, result.error
    response = result.response("s1")
    assert response["result"]["stats"] == {"total": 20, "success": 20, "failed": 0}
    told = {item["element"]: item["worker"] for item in response["result"]["results"]}
    with pool.session(lake, {}) as session:
        assert dict(session.cursor.execute("FROM t").fetchall()) == told
    assert sorted(set(told.values())) == response["workers"]
    assert pool.worker_id() not in response["workers"]
    names = [event.name for event in events if event.step == "s1"]
    assert names == ["step.enter", *["loop.item"] * 20, "loop.done", "step.exit"]


def test_an_item_that_fails_fails_alone(run_steps: RunSteps, spark: SparkSession, lake: Lake) -> None:
    result = run_steps(
        {"command": CREATE}, {"command": INSERT, "loop": loop([1, 2, "'x'", 4, 5, "nothing("])}, spark=spark
    )
    assert result.status == "error"
    items = result.response("s1")["result"]["results"]
    assert [item["status"] for item in items] == ["ok", "ok", "error", "ok", "ok", "error"]
    assert "2 of 6 items failed; item 2 (\"'x'\"): Could not convert string" in str(result.error)
    assert rows(lake) == [1, 2, 4, 5]


def test_a_sequential_loop_keeps_its_order_and_stops(
    run_steps: RunSteps, spark: SparkSession, lake: Lake
) -> None:
    command = "INSERT INTO t SELECT {{ x }}, (SELECT count(*) FROM t)"
    result = run_steps(
        {"command": CREATE},
        {"command": command, "loop": loop([1, 2, 3, "oops", 5], "sequential")},
        spark=spark,
    )
    response = result.response("s1")
    assert response["result"]["stats"] == {"total": 5, "success": 3, "failed": 1, "skipped": 1}
    with pool.session(lake, {}) as session:
        assert session.cursor.execute("FROM t ORDER BY id").fetchall() == [(1, "0"), (2, "1"), (3, "2")]


def test_items_of_several_commands_and_conflicting_ones(
    run_steps: RunSteps, spark: SparkSession, lake: Lake
) -> None:
    """All items change one row: the lake refuses, the workers try again, and nothing is lost."""
    commands = ["UPDATE t SET id = id + 1", "SELECT count(*) AS n, '{{ loop.index }}' AS i FROM t"]
    result = run_steps(
        {"commands": [CREATE, "INSERT INTO t VALUES (0, '')"]},
        {"commands": commands, "loop": loop(list(range(8)), concurrency=2)},
        spark=spark,
    )
    assert result.ok, result.error
    items = result.response("s1")["result"]["results"]
    assert [item["data"]["command_1"]["rows"] for item in items] == [
        [{"n": 1, "i": str(at)}] for at in range(8)
    ]
    assert rows(lake) == [8]


def test_an_empty_collection_needs_no_spark(run_steps: RunSteps) -> None:
    routes = [{"when": "{{ event.name == 'loop.done' }}", "then": [{"step": "s2"}]}]
    result = run_steps(
        {"command": CREATE},
        {"command": INSERT, "loop": loop([]), "next": routes},
        {"command": "SELECT '{{ s1.stats.total }}' AS n"},
    )
    assert result.ok, result.error
    assert result.response("s2")["result"]["data"]["command_0"]["rows"] == [{"n": "0"}]


@pytest.mark.parametrize("ordered", [False, True])
def test_a_repeated_share_writes_nothing_twice(lake: Lake, ordered: bool) -> None:
    with pool.session(lake, {}) as session:
        session.cursor.execute(CREATE)
    texts = [f"INSERT INTO t VALUES ({number}, '')" for number in range(5)]
    texts += ["INSERT INTO t SELECT 5, ''", "INSERT INTO t VALUES (6, ''); SELECT count(*) AS n FROM t"]
    items = tuple(Item(index, (text,)) for index, text in enumerate(texts))
    work = Work(lake, items, ordered, Ledger("run/s/0", newest_snapshot(lake)), "s", "run")
    first, again = run_share(work, 0, 1), sorted(run_share(work, 0, 1), key=lambda outcome: outcome.index)
    assert all(outcome.ok and not outcome.repeated for outcome in first)
    assert all(outcome.ok and outcome.repeated for outcome in again)
    assert [each.commands[0].affected_rows for each in again] == [1] * 7
    assert again[6].commands[0].rows == ({"n": 7},)
    assert rows(lake) == list(range(7))


def test_another_visit_of_the_step_writes_again(run_steps: RunSteps, spark: SparkSession, lake: Lake) -> None:
    again = [{"step": "s1", "when": "{{ 'seen' not in vars }}"}]
    result = run_steps(
        {"command": CREATE},
        {
            "command": INSERT,
            "loop": loop([1, 2], concurrency=1),
            "vars": {"seen": True},
            "next": again,
        },
        spark=spark,
    )
    assert result.ok, result.error
    assert [step.step for step in result.steps] == ["s0", "s1", "s1"]
    assert rows(lake) == [1, 1, 2, 2]


_KILLED = """
import json, sys
from runnel.playbook import run_playbook
from runnel.spark.session import create_session
spark = create_session("killed", master="local[2,4]")
result = run_playbook(sys.argv[1], dsn=sys.argv[2], spark=spark)
items = result.response("s1")["result"]["results"]
repeated = sum("repeated" in item for item in items)
print(json.dumps({"status": result.status, "repeated": repeated, "n": len(items)}))
spark.stop()
"""


def test_a_killed_worker_loses_and_repeats_nothing(database: str, tmp_path: Path, lake: Lake) -> None:
    """kill -9 of a Spark worker amid its items; Spark runs the task again, which skips what is written."""
    with pool.session(lake, {}) as session:
        session.cursor.execute(CREATE)
    playbook = tmp_path / "killed.yaml"
    fields = f"tool: ducklake, catalog_name: analytics, data_path: {lake.data_path}"
    insert = "INSERT INTO t SELECT {{ x }}, current_setting('worker_id')"
    playbook.write_text(
        f"""
metadata: {{name: killed}}
workflow:
  - {{step: s1, {fields}, command: "{insert}",
     loop: {{collection: "{{{{ range(300) | list }}}}", element: x, mode: async, concurrency: 2}}}}
""",
        encoding="utf-8",
    )
    command = [sys.executable, "-c", _KILLED, str(playbook), database]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        victim = _a_worker_at_work(lake, run)
        os.kill(victim, signal.SIGKILL)
        out, errors = run.communicate(timeout=240)
    assert run.returncode == 0, errors[-2000:]
    told = json.loads(out.splitlines()[-1])
    assert (told["status"], told["n"]) == ("ok", 300)
    assert told["repeated"] > 0
    assert rows(lake) == list(range(300))


def _a_worker_at_work(lake: Lake, run: subprocess.Popen[str]) -> int:
    """The process that has written some rows, and will write more."""
    deadline = time.monotonic() + 180
    with pool.session(lake, {}) as session:
        while time.monotonic() < deadline and run.poll() is None:
            found = session.cursor.execute(
                "SELECT worker FROM t GROUP BY worker HAVING count(*) >= 5 ORDER BY count(*) LIMIT 1"
            ).fetchone()
            if found is not None:
                return int(found[0].rpartition("-")[2])
            time.sleep(0.02)
    raise AssertionError(f"no worker came to work: {run.poll()}")


def test_a_lost_catalog_fails_the_items_with_words(lake: Lake) -> None:
    with pool.session(lake, {}) as session:
        session.cursor.execute(CREATE)
    work = Work(lake, (Item(0, ("FROM t",)),), False, Ledger("run/s/0", newest_snapshot(lake)), "s", "run")
    with psycopg.connect(lake.conninfo, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {lake.schema} CASCADE")
    [outcome] = run_share(work, 0, 1)
    assert not outcome.ok
    assert "ducklake" in str(outcome.error)
