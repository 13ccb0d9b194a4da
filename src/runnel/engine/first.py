"""First gear: all programs of a level in one Spark job, each combined by DuckDB inside a task.

A task reads deltas and lookups itself and returns only the stage's delta. A program that fails, or that meets
more rows than its limit, says so in its answer: it never fails the job of the others.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from runnel.engine.job import Input, Job
from runnel.relations import Parameter, PostgresRead, Read
from runnel.spark.pool import Snapshots, pool, snapshots

# A second task costs as much as several programs, and programs of one task share their reads.
_JOBS_A_TASK = 8


@dataclass(frozen=True, slots=True)
class Answer:
    """What a task says of one program: `done` with the delta, `overflow`, or `failed` with a message."""

    number: int
    outcome: str
    message: str | None
    worker: str
    rows_in: int
    rows: pa.Table | None


class Overflow(Exception):
    """More rows than first gear should hold."""


def run(spark: SparkSession, jobs: Sequence[Job], label: str) -> dict[int, Answer]:
    """The answers of all jobs, by number, from one Spark job.

    An RDD, because a job over a DataFrame costs about twice as much before its task even begins.
    """
    context = spark.sparkContext
    parts = min(ceil(len(jobs) / _JOBS_A_TASK), context.defaultParallelism)
    context.setJobDescription(label)
    shares = [tuple(jobs[i::parts]) for i in range(parts)]
    answers = context.parallelize(shares, parts).mapPartitions(_run_shares).collect()
    return {answer.number: answer for answer in answers}


def _run_shares(shares: Iterable[tuple[Job, ...]]) -> Iterator[Answer]:
    for jobs in shares:
        with snapshots() as connections:
            shared: dict[Any, pa.Table] = {}
            for job in jobs:
                yield _answer(job, connections, shared)


def _answer(job: Job, connections: Snapshots, shared: dict[Any, pa.Table]) -> Answer:
    worker = f"{socket.gethostname()}:{os.getpid()}"
    try:
        rows, rows_in = _compute(job, connections, shared)
    except Overflow:
        return Answer(job.number, "overflow", None, worker, 0, None)
    except Exception as error:  # noqa: BLE001 -- the edge of a request: it must not fail the job of the others
        return Answer(job.number, "failed", f"{type(error).__name__}: {error}", worker, 0, None)
    return Answer(job.number, "done", None, worker, rows_in, rows)


def _compute(job: Job, connections: Snapshots, shared: dict[Any, pa.Table]) -> tuple[pa.Table, int]:
    tables: dict[str, pa.Table] = {}
    for i, item in enumerate(job.inputs):
        if job.whole:
            tables[f"s{i}"] = _all(
                item.relation.scan(item.leaf, item.new), item, job.limit, connections, shared
            )
            continue
        reads = item.relation.changes(item.leaf, item.old, item.new)
        tables[f"d{i}"] = _all(reads, item, job.limit, connections, shared)
    for lookup in job.lookups:
        keys = _keys(tables[f"d{lookup.by}"], job.inputs[lookup.by])
        tables[f"n{lookup.leaf}"] = _lookup(job.inputs[lookup.leaf], keys, job.limit, connections)
    rows = _combine(job.combine, tables)
    return rows, sum(table.num_rows for table in tables.values())


def _all(
    reads: Sequence[Read], item: Input, limit: int, connections: Snapshots, shared: dict[Any, pa.Table]
) -> pa.Table:
    """The rows of all reads; programs of one task that ask the same share the answer."""
    found = []
    for read in reads:
        known = repr(read)
        if known not in shared:
            shared[known] = _table(read, item, limit, connections)
        found.append(shared[known])
    return pa.concat_tables(found) if found else item.schema.empty_table()


def _lookup(item: Input, keys: list[list[Any]], limit: int, connections: Snapshots) -> pa.Table:
    if not keys[0]:
        return item.schema.empty_table()
    wanted: tuple[Parameter, ...] = tuple(keys)
    return _table(item.relation.rows(item.leaf, item.new, wanted), item, limit, connections)


def _keys(delta: pa.Table, item: Input) -> list[list[Any]]:
    """The distinct key tuples of a delta, a list per key; a NULL joins nothing."""
    # by position: one column may be compared with several
    columns = {f"k{i}": delta.column(column.name) for i, column in enumerate(item.leaf.keys)}
    distinct = pa.table(columns).drop_null().group_by(list(columns)).aggregate([])
    return [distinct.column(name).to_pylist() for name in columns]


def _table(read: Read, item: Input, limit: int, connections: Snapshots) -> pa.Table:
    """The rows of a read, no more than the limit."""
    bounded = read.limited(limit + 1) if isinstance(read, PostgresRead) else read
    batches, count = [], 0
    for batch in bounded.batches(connections):
        count += batch.num_rows
        if count > limit:
            raise Overflow
        batches.append(batch)
    return pa.Table.from_batches(batches).cast(item.schema) if batches else item.schema.empty_table()


def _combine(sql: str, tables: dict[str, pa.Table]) -> pa.Table:
    cursor = pool().duckdb()
    try:
        for name, table in tables.items():
            cursor.register(name, table)
        return cursor.execute(sql).to_arrow_table()
    finally:
        for name in tables:
            cursor.unregister(name)
        cursor.close()
