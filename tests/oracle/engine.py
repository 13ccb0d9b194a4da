"""An engine in a process of its own, for tests that kill it or want other Spark masters than the run's.

    python -m tests.oracle.engine '{"dsn": …, "ids": […], "master": "local[1]", "gear": "second"}'

Prints one line of JSON: this process, what became of each refresh, who combined, and what reached the driver.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pyspark.sql import DataFrame

from runnel.refresh import compute
from runnel.refresh.model import Options
from runnel.refresh.round import Refresher
from runnel.servers import find_java
from runnel.spark.session import create_session


def main(asked: dict[str, Any]) -> None:
    os.environ["JAVA_HOME"] = str(find_java().parent.parent)
    workers: set[str] = set()
    arrived: list[dict[str, Any]] = []
    _watch(workers, arrived)
    spark = create_session("runnel-tests", master=asked["master"])
    refresher = Refresher(asked["dsn"], spark, Options(gear=asked.get("gear")))
    outcomes = refresher.refresh(asked["ids"])
    print(
        json.dumps(
            {
                "driver": os.getpid(),
                "workers": sorted(workers),
                "arrived": arrived,
                "outcomes": {o.pgt_id: [o.refreshed, o.mode, o.gear, str(o.error or "")] for o in outcomes},
            }
        )
    )
    refresher.close()
    spark.stop()


def _watch(workers: set[str], arrived: list[dict[str, Any]]) -> None:
    """Notes what the engine's own functions answer, and every table that comes to the driver."""
    first, second, full, to_arrow = compute.run_first, compute.run_second, compute.run_full, DataFrame.toArrow

    def run_first(*args: Any) -> Any:
        answers = first(*args)
        workers.update(answer.worker for answer in answers.values())
        return answers

    def run_second(*args: Any) -> Any:
        staged = second(*args)
        workers.update(staged.workers)
        return staged

    def run_full(*args: Any) -> Any:
        staged = full(*args)
        workers.update(staged.workers)
        return staged

    def arrive(self: DataFrame) -> Any:
        table = to_arrow(self)
        arrived.append({"columns": table.column_names, "rows": table.num_rows})
        return table

    compute.run_first, compute.run_second, compute.run_full = run_first, run_second, run_full
    DataFrame.toArrow = arrive  # type: ignore[method-assign]


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
