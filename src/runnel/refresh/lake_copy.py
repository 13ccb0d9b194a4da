"""Copies of lake tables in PostgreSQL, staged by executors: only so can PostgreSQL judge a query over a lake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from runnel.algebra import Column, Leaf, LeafColumn, Source, SqlType
from runnel.catalog.client import Dependency, StreamTable
from runnel.catalog.connection import Connection
from runnel.delta import Field, quote
from runnel.engine import Input, Job, run_full
from runnel.lake.spec import uuid7
from runnel.refresh import plan
from runnel.refresh.lakes import Lakes


@dataclass(frozen=True, slots=True)
class LakeCopies:
    """The snapshots that were copied, by stub view, and the query that reads each copy, by schema and name."""

    pins: dict[int, int]
    queries: dict[tuple[str, str], str]


@contextmanager
def lake_copies(
    conn: Connection, spark: SparkSession, dsn: str, tables: Mapping[int, StreamTable], pgt_id: int
) -> Iterator[LakeCopies]:
    """Copies of all lake tables that a stream table's family reads, at their newest snapshots."""
    copies = LakeCopies({}, {})
    family = [tables[member] for member in (pgt_id, *plan.ancestors(tables, pgt_id))]
    found = {d.relid: d for table in family for d in table.dependencies if d.kind == "lake"}
    made: list[str] = []
    try:
        for relid, dependency in found.items():
            lakes = Lakes(conn, dsn)
            copies.pins[relid] = lakes.newest(dependency)
            name = f"pgtrickle_state.lake_{relid}_{uuid7().hex[-12:]}"
            made.append(name)
            query = _copy(conn, spark, dsn, lakes, dependency, copies.pins[relid], name)
            copies.queries[dependency.schema or "", dependency.name or ""] = query
        yield copies
    finally:
        for name in made:
            conn.execute(f"DROP TABLE IF EXISTS {name}".encode())


def _copy(
    conn: Connection, spark: SparkSession, dsn: str, lakes: Lakes, dependency: Dependency, at: int, name: str
) -> str:
    leaf = _whole_leaf(dependency)
    fields = tuple(Field(column.name, column.carrier) for column in leaf.columns)
    columns = ", ".join(f"{field.name} {field.carrier}" for field in fields)
    conn.execute(f"CREATE UNLOGGED TABLE {name} (tag text, {columns})".encode())
    relation = lakes.table(dependency, None, at, whole=True)
    combine = f"SELECT {', '.join(field.name for field in fields)} FROM s0"
    job = Job(0, name, (Input(leaf, relation, None, at),), (), combine, fields, 0, whole=True)
    staged = run_full(spark, job, dsn, name, uuid7().hex)
    typed = ", ".join(
        f"{field.name}::{column.type.text} AS {quote(column.name)}"
        for field, column in zip(fields, leaf.source.columns, strict=True)
    )
    tags = ", ".join(f"'{tag}'" for tag in staged.tags) or "NULL"
    return f"SELECT {typed} FROM {name} WHERE tag IN ({tags})"


def _whole_leaf(dependency: Dependency) -> Leaf:
    """Every column of the lake table as it is."""
    columns = tuple(Column(c.name, SqlType(c.type), c.attnum) for c in dependency.columns)
    source = Source("lake", dependency.relid, "lake", dependency.name or "", columns)
    carried = tuple(
        LeafColumn(f"c{i}", column.type.carried(f"lake.{quote(column.name)}"), column.type.carrier)
        for i, column in enumerate(columns, 1)
    )
    return Leaf("l0", source, columns, carried, (), (), (), (), consolidate=False)
