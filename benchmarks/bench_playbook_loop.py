"""100 one-row loop items on three workers of one lake: total seconds, errors and the median operation.

The tool whose playbooks we run reports 28 s and 280 ms a median operation for its pooled lake, and 44 s with
lock errors for plain DuckDB files. The aim here is under 2 s without an error, once the workers are warm.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from runnel.playbook import run_playbook
from runnel.servers import EmbeddedPostgres
from runnel.spark.session import create_session

ITEMS = 100
WORKERS = 3
ROUNDS = 5

_PLAYBOOK = """
metadata: {{name: bench}}
workflow:
  - step: create
    tool: &lake
      kind: ducklake
      catalog_connection: unused
      catalog_name: bench
      data_path: unused
      command: "CREATE TABLE IF NOT EXISTS items (id INTEGER, made_at TIMESTAMP, worker VARCHAR)"
    next: load
  - step: load
    tool:
      <<: *lake
      command: |
        {command}
    loop: {{collection: "{{{{ range({items}) | list }}}}", element: id, mode: {mode}, concurrency: {workers}}}
"""
_INSERT = "INSERT INTO items VALUES ({{ id }}, NOW(), current_setting('worker_id'))"
# A query in the row: such items are not put into one statement, and each keeps its own transaction.
_QUERY = "INSERT INTO items SELECT {{ id }}, NOW(), current_setting('worker_id')"

_CASES = {
    "async, rows coalesced": (_INSERT, "async"),
    "async, a commit per item": (_QUERY, "async"),
    "sequential, a commit per item": (_INSERT, "sequential"),
}


def main() -> None:
    print(f"{ITEMS} one-row items, {WORKERS} workers, median of {ROUNDS} warm runs")
    print(
        f"{'case':32} {'total s':>8} {'first s':>8} {'errors':>7} {'workers':>8} {'commits':>8} {'op ms':>7}"
    )
    with tempfile.TemporaryDirectory(prefix="runnel-bench-") as folder:
        spark = create_session("bench", master=f"local[{WORKERS}]")
        with EmbeddedPostgres(Path(folder) / "pg") as server:
            for name, (command, mode) in _CASES.items():
                text = _PLAYBOOK.format(command=command, items=ITEMS, mode=mode, workers=WORKERS)
                path = Path(folder) / "bench.yaml"
                path.write_text(text, encoding="utf-8")
                _report(name, [_round(path, server.dsn, Path(folder), spark) for _ in range(ROUNDS + 1)])
        spark.stop()


def _round(path: Path, dsn: str, folder: Path, spark: SparkSession) -> tuple[float, Mapping[str, Any], int]:
    begun = time.perf_counter()
    result = run_playbook(path, dsn=dsn, data_path=folder / "lake", spark=spark)
    seconds = time.perf_counter() - begun
    if not result.ok:
        raise SystemExit(result.error)
    load = result.response("load")
    made = [result.response(step)["catalog_info"]["snapshot_count"] for step in ("create", "load")]
    return seconds, load, made[1] - made[0]


def _report(name: str, rounds: list[tuple[float, Mapping[str, Any], int]]) -> None:
    first, *warm = rounds
    total = statistics.median(seconds for seconds, _, _ in warm)
    response, commits = warm[-1][1], warm[-1][2]
    items = response["result"]["results"]
    errors = sum(load["result"]["stats"]["failed"] for _, load, _ in rounds)
    median = statistics.median(item["duration_ms"] for item in items)
    workers = len(response["workers"])
    print(f"{name:32} {total:8.2f} {first[0]:8.2f} {errors:7} {workers:8} {commits:8} {median:7.1f}")


if __name__ == "__main__":
    main()
