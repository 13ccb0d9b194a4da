"""Sending the items of a loop to Spark's workers and bringing their outcomes back."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import partial
from typing import cast

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from runnel.errors import TransientError
from runnel.playbook.ducklake.outcome import ItemOutcome
from runnel.playbook.ducklake.worker import Work, run_share
from runnel.playbook.secrets import hide


def run_on_spark(spark: SparkSession, work: Work, partitions: int) -> list[ItemOutcome]:
    """As many tasks as the loop may run at once, never one per item: a task costs more than an item."""
    shares = spark.range(0, partitions, 1, partitions)
    try:
        rows = shares.mapInArrow(partial(_task, work, partitions), "outcomes binary").collect()
    except PySparkException as error:
        raise _lost(work, error) from None
    except Exception as error:
        if type(error).__module__.split(".")[0] != "py4j":
            raise
        raise _lost(work, error) from None
    # Written by our own workers a moment ago, so as safe to load as the closure that Spark sent them.
    outcomes = [outcome for row in rows for outcome in cast(list[ItemOutcome], pickle.loads(row.outcomes))]
    return sorted(outcomes, key=lambda outcome: outcome.index)


def _task(work: Work, partitions: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for partition in batch.column(0).to_pylist():
            outcomes = pickle.dumps(run_share(work, partition, partitions))
            yield pa.RecordBatch.from_pydict({"outcomes": pa.array([outcomes], pa.binary())})


def _lost(work: Work, error: Exception) -> TransientError:
    reason = next((line for line in reversed(str(error).splitlines()) if "Error" in line), str(error)[:300])
    return TransientError(
        f'the workers of loop "{work.step}" were lost',
        detail=hide(reason.strip(), work.lake.conninfo),
        hint="run the playbook again; items that were written before the loss stay written",
    )
