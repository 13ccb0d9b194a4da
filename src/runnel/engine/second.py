"""Second gear: the same program as Spark SQL over parallel ranges, its rows staged back by executors.

The driver sees attempt tags and counts, never a row. Tasks commit on their own, so every attempt writes under
its own tag and only the tags that the finished job reports are read.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from adbc_driver_postgresql import dbapi
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from runnel.engine.job import Input, Job
from runnel.relations import Read
from runnel.spark.pool import pool, snapshots

_STAGED = "tag string, rows bigint, worker string"


@dataclass(frozen=True, slots=True)
class StagedRows:
    """The attempts whose rows count, how many rows they staged, and the processes that did it."""

    tags: list[str]
    rows: int
    workers: frozenset[str]


def run_delta(spark: SparkSession, job: Job, dsn: str, table: str, run_id: str) -> StagedRows:
    """A delta too large for first gear: the same combine query over distributed inputs."""
    session = _session(spark, job)
    frames: dict[str, DataFrame] = {}
    for i, item in enumerate(job.inputs):
        reads = item.relation.changes(item.leaf, item.old, item.new, _parts(spark))
        frames[f"d{i}"] = _frame(session, item, reads)
    kept = [frame.persist() for frame in frames.values()] if job.lookups else []
    for lookup in job.lookups:
        item, by = job.inputs[lookup.leaf], job.inputs[lookup.by]
        frames[f"n{lookup.leaf}"] = _lookup(item, by, frames[f"d{lookup.by}"], _parts(spark))
    staged = _stage(session, job, frames, dsn, table, run_id)
    for frame in kept:
        frame.unpersist()
    return staged


def run_full(spark: SparkSession, job: Job, dsn: str, table: str, run_id: str) -> StagedRows:
    """A fill: every relation read whole, in parallel ranges."""
    session = _session(spark, job)
    frames = {}
    for i, item in enumerate(job.inputs):
        frames[f"s{i}"] = _frame(session, item, item.relation.scan(item.leaf, item.new, _parts(spark)))
    return _stage(session, job, frames, dsn, table, run_id)


def _session(spark: SparkSession, job: Job) -> SparkSession:
    """A session of its own, whose view names are this program's."""
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "true")
    # Spark takes what our readers give for as small as their list of ranges: only sizes seen at run time count.
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.conf.set("spark.sql.adaptive.autoBroadcastJoinThreshold", "10MB")
    session.conf.set("spark.sql.shuffle.partitions", str(2 * _parts(spark)))
    session.sparkContext.setJobDescription(f"{job.name} (second gear)")
    return session


def _parts(spark: SparkSession) -> int:
    return max(2, spark.sparkContext.defaultParallelism)


def _frame(session: SparkSession, item: Input, reads: Sequence[Read]) -> DataFrame:
    """One partition per read."""
    schema = _ddl(item)
    if not reads:
        return session.createDataFrame([], schema)
    return session.range(0, len(reads), 1, len(reads)).mapInArrow(_reading(list(reads), item.schema), schema)


def _ddl(item: Input) -> str:
    columns = [(column.name, column.carrier) for column in item.leaf.columns]
    return ", ".join(f"{name} {_spark_type(carrier)}" for name, carrier in [*columns, ("w", "bigint")])


def _spark_type(carrier: str) -> str:
    return "bigint" if carrier == "bigint" else "string"


Batches = Iterable[pa.RecordBatch]


def _reading(reads: list[Read], schema: pa.Schema) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                with snapshots() as connections:
                    for found in reads[index].batches(connections):
                        yield from pa.Table.from_batches([found]).cast(schema).to_batches()

    return task


def _lookup(item: Input, by: Input, delta: DataFrame, parts: int) -> DataFrame:
    """Each executor asks for its slice of the keys, by the index where one is there."""
    # by position: one column may be compared with several
    named = [delta[column.name].alias(f"k{i}") for i, column in enumerate(by.leaf.keys)]
    keys = delta.select(*named).dropna().distinct().repartition(parts)
    return keys.mapInArrow(_looking_up(item), _ddl(item))


def _looking_up(item: Input) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        with snapshots() as connections:
            for batch in batches:
                if not batch.num_rows:
                    continue
                keys: Any = tuple(column.to_pylist() for column in batch.columns)
                for found in item.relation.rows(item.leaf, item.new, keys).batches(connections):
                    yield from pa.Table.from_batches([found]).cast(item.schema).to_batches()

    return task


def _stage(
    session: SparkSession, job: Job, frames: dict[str, DataFrame], dsn: str, table: str, run_id: str
) -> StagedRows:
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    combined = session.sql(job.combine)
    schema, _, name = table.partition(".")
    written = combined.mapInArrow(_staging(job, dsn, schema, name, run_id), _STAGED).toArrow().to_pylist()
    return StagedRows(
        [row["tag"] for row in written],
        sum(row["rows"] for row in written),
        frozenset(row["worker"] for row in written),
    )


def _staging(
    job: Job, dsn: str, schema: str, table: str, run_id: str
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    fields = [
        pa.field(field.name, pa.int64() if field.carrier == "bigint" else pa.string()) for field in job.staged
    ]

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        attempt = context.taskAttemptId() if context else 0
        tag = f"{run_id}.{attempt}"
        count = _ingest(batches, tag, pa.schema(fields), dsn, schema, table)
        worker = f"{socket.gethostname()}:{os.getpid()}"
        yield pa.RecordBatch.from_pydict({"tag": [tag], "rows": [count], "worker": [worker]})

    return task


def _ingest(batches: Batches, tag: str, fields: pa.Schema, dsn: str, schema: str, table: str) -> int:
    connection = pool().take(dsn)
    try:
        count = 0
        for batch in batches:
            if batch.num_rows:
                count += batch.num_rows
                _append(connection, batch, tag, fields, schema, table)
    except BaseException:
        connection.close()
        raise
    pool().give_back(dsn, connection)
    return count


def _append(
    connection: dbapi.Connection, batch: pa.RecordBatch, tag: str, fields: pa.Schema, schema: str, table: str
) -> None:
    rows = pa.Table.from_batches([batch]).rename_columns(fields.names).cast(fields)
    tagged = rows.add_column(0, "tag", pa.array([tag] * rows.num_rows, pa.string()))
    with connection.cursor() as cursor:
        cursor.adbc_ingest(table, tagged, mode="append", db_schema_name=schema)
