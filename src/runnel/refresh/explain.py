"""Prints a DeltaProgram as the text that runs: leaf reads, lookups, combine queries and the apply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runnel.algebra import Leaf
from runnel.catalog.client import Dependency, StreamTable
from runnel.delta import DeltaProgram, Gear, Statement
from runnel.refresh.model import Compiled
from runnel.relations import PostgresRead, PostgresTable, Reader, Relation, StreamRelation

_NOWHERE = Reader("", "")


def explain(compiled: Compiled, gear: Gear = "first") -> str:
    """The whole program of a stream table as a gear runs it, or why it has none."""
    table, program = compiled.table, compiled.program
    mode = "FULL" if compiled.reason else "DIFFERENTIAL"
    lines = [f"stream table {table.qualified_name}: {mode}"]
    if compiled.reason:
        lines.append(f"reason: {compiled.reason}")
    if program is None:
        lines.append("PostgreSQL evaluates the whole query at each refresh and applies the difference")
        return "\n".join(lines) + "\n"
    lines += [line for part in _parts(table, program, gear) for line in part]
    return "\n".join(lines) + "\n"


def _parts(table: StreamTable, program: DeltaProgram, gear: Gear) -> Iterator[list[str]]:
    for index, leaf in enumerate(program.leaves):
        yield _leaf(table, leaf, index)
    for lookup in program.lookups:
        yield [
            "",
            f"-- lookup n{lookup.leaf}: rows of {program.leaves[lookup.leaf].name} for the keys of d{lookup.by}",
        ]
    yield ["", "-- combine Δ (DuckDB in a task, or Spark SQL)", program.combine_delta]
    yield ["", "-- combine all rows (Spark SQL)", program.combine_full]
    yield from (
        _statement("apply Δ", program.render(statement, gear), statement) for statement in program.apply_delta
    )
    yield from (
        _statement("apply all rows", program.render(statement, gear), statement)
        for statement in program.apply_full
    )


def _leaf(table: StreamTable, leaf: Leaf, index: int) -> list[str]:
    lines = ["", f"-- leaf {leaf.name}: {leaf.source.name}"]
    for title, sql in _reads(table, leaf, index):
        lines += [f"-- {title}", sql]
    return lines


def _reads(table: StreamTable, leaf: Leaf, index: int) -> Iterator[tuple[str, str]]:
    dependency = next(d for d in table.dependencies if d.relid == leaf.source.relid)
    relation = _relation(dependency)
    if relation is None:
        yield f"d{index}, n{index}, s{index}", "the lake's change feed and files, read by tasks"
        return
    reads = [(f"d{index}: changes", relation.changes(leaf, None, None)[0])]
    if leaf.keys:
        reads.append((f"n{index}: rows by key", relation.rows(leaf, None, ())))
    reads.append((f"s{index}: scan", relation.scan(leaf, None)[0]))
    for title, read in reads:
        assert isinstance(read, PostgresRead)
        yield title, read.sql


def _relation(dependency: Dependency) -> Relation[Any] | None:
    if dependency.kind == "table":
        return PostgresTable(_NOWHERE, dependency.capture_id or 0)
    if dependency.kind == "stream":
        return StreamRelation(_NOWHERE, dependency.upstream_id or 0)
    return None


def _statement(title: str, sql: str, statement: Statement) -> list[str]:
    return ["", f"-- {title}: {statement.purpose}", sql]
