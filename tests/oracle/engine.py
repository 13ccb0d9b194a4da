"""An engine in a process of its own, for tests that kill it or want other Spark masters than the run's.

    python -m tests.oracle.engine '{"dsn": …, "ids": […], "master": "local[1]", "rounds": [{"gear": "second"}]}'

A round may have `sql` to be run before it. Prints one line of JSON: this process, and for each round what became of
each refresh, who combined, and what reached the driver.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from dataclasses import fields
from typing import Any
from unittest.mock import patch

from pyspark import RDD
from pyspark.sql.classic.dataframe import DataFrame

from runnel.delta import Gear
from runnel.refresh import compute
from runnel.refresh.model import Options
from runnel.refresh.round import Refresher
from runnel.servers import find_java
from runnel.spark.session import create_session


def main(asked: dict[str, Any]) -> None:
    os.environ["JAVA_HOME"] = str(find_java().parent.parent)
    spark = create_session("runnel-tests", master=asked["master"])
    refresher = Refresher(asked["dsn"], spark)
    rounds = [_round(refresher, asked["ids"], **each) for each in asked["rounds"]]
    print(json.dumps({"driver": os.getpid(), "rounds": rounds}))
    refresher.close()
    spark.stop()


def _round(refresher: Refresher, ids: list[int], gear: Gear | None = None, sql: str = "") -> dict[str, Any]:
    workers: set[str] = set()
    arrived: list[dict[str, Any]] = []
    refresher.options = Options(gear=gear)
    if sql:
        refresher.connection("control").execute(sql.encode())
    with ExitStack() as stack:
        _watch(stack, workers, arrived)
        outcomes = refresher.refresh(ids)
    found = [
        [outcome.refreshed, outcome.mode, outcome.gear, str(outcome.error or "")] for outcome in outcomes
    ]
    return {"workers": sorted(workers), "arrived": arrived, "outcomes": found}


def _watch(stack: ExitStack, workers: set[str], arrived: list[dict[str, Any]]) -> None:
    """Notes what the engine's own functions answer, and all that comes to the driver from a table or an RDD."""
    first, second = compute.run_first, compute.run_second
    to_arrow, collect = DataFrame.toArrow, RDD.collect

    def run_first(*args: Any) -> Any:
        answers = first(*args)
        workers.update(answer.worker for answer in answers.values())
        return answers

    def run_second(*args: Any) -> Any:
        staged = second(*args)
        workers.update(staged.workers)
        return staged

    def arrive(self: DataFrame) -> Any:
        table = to_arrow(self)
        arrived.append({"columns": table.column_names, "rows": table.num_rows})
        return table

    def arrive_one_by_one(self: RDD[Any]) -> Any:
        items = collect(self)
        arrived.extend({"columns": [field.name for field in fields(item)], "rows": 1} for item in items)
        return items

    stack.enter_context(patch.object(RDD, "collect", arrive_one_by_one))
    stack.enter_context(patch.object(compute, "run_first", run_first))
    stack.enter_context(patch.object(compute, "run_second", run_second))
    stack.enter_context(patch.object(DataFrame, "toArrow", arrive))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
