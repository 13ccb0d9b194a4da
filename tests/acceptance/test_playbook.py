"""A stranger's road: the example playbook on a server and workers of its own, judged by plain DuckDB."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
import yaml

from runnel.playbook import read_playbook

ROOT = Path(__file__).parents[2]
SALES = ROOT / "examples" / "playbooks" / "sales.yaml"

# In a process of its own: it makes its Spark session as `runnel playbook run` does, with workers of its own.
_RUN = """
import sys
from runnel.playbook import render, run_playbook
result = run_playbook(sys.argv[1], data_path=sys.argv[2])
print(render(result), file=sys.stderr)
print(result.to_json())
sys.exit(not result.ok)
"""

# The steps as the tool's documentation has them, letter by letter.
_BASIC = """
- step: create_and_populate
  tool: ducklake
  auth: "{{ postgres_catalog_auth }}"
  catalog_name: "analytics"
  data_path: "/opt/noetl/data/ducklake"
  commands:
    - |
      CREATE TABLE sales (
        sale_id INTEGER PRIMARY KEY,
        product VARCHAR,
        amount DECIMAL(10,2),
        sale_date TIMESTAMP
      );
    - |
      INSERT INTO sales VALUES
        (1, 'Widget', 99.99, NOW()),
        (2, 'Gadget', 149.99, NOW());
    - "SELECT * FROM sales ORDER BY sale_id;"
  vars:
    sale_count: "{{ result.data.command_2.row_count }}"
"""
_LOOP = """
- step: process_batches
  desc: "Process batches across multiple workers"
  loop:
    collection: "{{ batch_ids }}"
    element: batch_id
    mode: async  # Run in parallel across workers
  tool: ducklake
  auth: "{{ postgres_catalog_auth }}"
  catalog_name: "analytics"
  data_path: "/opt/noetl/data/ducklake"
  command: |
    INSERT INTO processed_batches (batch_id, processed_at, worker_id)
    VALUES ({{ loop.element }}, NOW(), current_setting('worker_id'));
  next:
    - when: "{{ event.name == 'loop.done' }}"
      then:
        - step: verify_results
"""


@pytest.mark.parametrize("block", [_BASIC, _LOOP])
def test_the_example_has_the_documented_steps_as_they_are_written(block: str) -> None:
    [step] = yaml.safe_load(block)
    document = yaml.safe_load(SALES.read_text(encoding="utf-8"))
    assert step in document["workflow"]
    assert read_playbook(SALES).find(step["step"]) is not None


def test_the_sales_playbook(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOETL_SECRET_PG_CATALOG", database)
    folder = tmp_path / "lake"
    command = [sys.executable, "-c", _RUN, str(SALES), str(folder)]
    command = [sys.executable, "-c", _RUN, str(SALES), str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    told = json.loads(run.stdout)
    steps = {step["step"]: step for step in told["steps"]}
    assert list(steps) == [
        "start",
        "create_and_populate",
        "create_processed_batches",
        "process_batches",
        "verify_results",
    ]
    assert told["vars"]["sale_count"] == 2
    _check_loop(steps["process_batches"], steps["verify_results"])
    _check_lake(database, folder, steps["process_batches"])
    password = psycopg.conninfo.conninfo_to_dict(database)["password"]
    assert str(password) not in run.stdout + run.stderr


def _check_loop(loop: dict[str, Any], verify: dict[str, Any]) -> None:
    """Twelve items in at least three worker processes, each named in its item's response."""
    items = loop["result"]["results"]
    assert loop["result"]["stats"] == {"total": 12, "success": 12, "failed": 0}
    assert [item["element"] for item in items] == list(range(1, 13))
    assert len(loop["workers"]) >= 3
    assert {item["worker"] for item in items} == set(loop["workers"])
    assert verify["worker"] not in loop["workers"]
    assert verify["result"]["data"]["command_0"]["rows"] == [{"batches": 12, "distinct_batches": 12}]
    assert len(verify["result"]["data"]["command_1"]["rows"]) == len(loop["workers"])


def _check_lake(database: str, folder: Path, loop: dict[str, Any]) -> None:
    """A DuckDB with nothing of Runnel in it finds the rows, each by the worker that the response names."""
    with duckdb.connect() as judge:
        for name in ("ducklake", "postgres_scanner"):
            [extension] = (Path(str(files(f"duckdb_extension_{name}"))) / "extensions").glob(
                "*/*.duckdb_extension"
            )
            judge.execute(f"LOAD '{extension}'")
        judge.execute(
            f"ATTACH 'ducklake:postgres:{database}' AS judge (READ_ONLY, DATA_PATH '{folder}',"
            " METADATA_SCHEMA '__ducklake_metadata_analytics')"
        )
        sales = judge.execute("SELECT sale_id, product, amount FROM judge.sales ORDER BY 1").fetchall()
        assert sales == [(1, "Widget", Decimal("99.99")), (2, "Gadget", Decimal("149.99"))]
        written = judge.execute("SELECT batch_id, worker_id FROM judge.processed_batches").fetchall()
    assert dict(written) == {item["element"]: item["worker"] for item in loop["result"]["results"]}
    assert len(written) == 12
