"""Spark's way into a lake: `spark.read.format("ducklake")`, one task per file, rows exactly as DuckDB's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import psycopg
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from runnel.errors import RunnelError, UserError
from runnel.lake.catalog import LakeCatalog
from runnel.lake.connection import connect_catalog
from runnel.lake.files import ScanTask, scan_tasks
from runnel.lake.spark_types import spark_schema
from runnel.lake.spec import Table

_NAME = re.compile(r'^(?:(?P<schema>[^."]+|"(?:[^"]|"")+")\.)?(?P<name>[^."]+|"(?:[^"]|"")+")$')


def register(spark: SparkSession) -> None:
    """Makes `format("ducklake")` known to a session."""
    spark.dataSource.register(DuckLakeDataSource)


def _unquote(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


@dataclass(frozen=True, slots=True)
class Source:
    """What the options ask for."""

    dsn: str = field(repr=False)
    catalog: LakeCatalog
    schema: str
    name: str
    version: int | None

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Source:
        if not (dsn := options.get("catalog")):
            raise UserError(
                'reading a lake needs the option "catalog"',
                hint='.option("catalog", "host=… dbname=…") names the database of the lake\'s catalog',
            )
        if not (found := _NAME.match(options.get("path", "").strip())):
            raise UserError(
                "reading a lake needs the name of a table", hint='.load("main.orders"), quotes as in SQL'
            )
        schema, name = (_unquote(part) for part in (found["schema"] or "main", found["name"]))
        version = options.get("version")
        if version is not None and not version.isdigit():
            raise UserError(f'the option "version" is {version}', hint="it is the id of a snapshot")
        catalog = LakeCatalog(options.get("metadata_schema", "public"))
        return cls(dsn, catalog, schema, name, None if version is None else int(version))

    def pin(self) -> tuple[Table, int]:
        """The table and the snapshot that all tasks will read."""
        with connect_catalog(self.dsn) as conn:
            snapshot = (
                self.catalog.newest(conn)
                if self.version is None
                else self.catalog.snapshot(conn, self.version)
            )
            at = snapshot.snapshot_id
            return self.catalog.table(conn, self.schema, self.name, at), at

    def plan(self, table: Table, at: int) -> list[ScanTask]:
        with connect_catalog(self.dsn) as conn:
            conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            self.catalog.snapshot(conn, at)
            return scan_tasks(conn, self.catalog, table, at, dsn=self.dsn)


class DuckLakeDataSource(DataSource):
    """Options: `catalog` (a connection string), `metadata_schema`, `version` (a snapshot id)."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = dict(options)
        self._pinned: tuple[Table, int] | None = None

    @classmethod
    def name(cls) -> str:
        return "ducklake"

    def schema(self) -> StructType:
        try:
            return spark_schema(self._pin()[0])
        except RunnelError as error:  # Spark prints the traceback: it should be short
            raise error.with_traceback(None) from None

    def reader(self, schema: StructType) -> DataSourceReader:
        return DuckLakeReader(self._source(), *self._pin(), schema)

    def _source(self) -> Source:
        return Source.from_options(self.options)

    def _pin(self) -> tuple[Table, int]:
        """Found once, so that a DataFrame stays the one snapshot that it was loaded with."""
        if self._pinned is None:
            self._pinned = self._source().pin()
        return self._pinned


class TaskPartition(InputPartition):
    def __init__(self, task: ScanTask) -> None:
        super().__init__(None)
        self.task = task


class DuckLakeReader(DataSourceReader):
    def __init__(self, source: Source, table: Table, at: int, schema: StructType) -> None:
        self._source, self._table, self._at, self._schema = source, table, at, schema

    def partitions(self) -> Sequence[InputPartition]:
        return [TaskPartition(task) for task in self._source.plan(self._table, self._at)] or [
            InputPartition(0)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, TaskPartition):
            target = to_arrow_schema(self._schema, timezone="UTC")
            for batch in partition.task.read(self._schema.names):
                columns = [
                    column.cast(field.type) for column, field in zip(batch.columns, target, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=target)
