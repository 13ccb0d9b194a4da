"""Binds a program's leaves to relations and versions: base relations at S, stream tables by pinned number."""

from __future__ import annotations

from collections.abc import Mapping

from runnel.algebra import Leaf
from runnel.catalog.client import Dependency, StreamTable
from runnel.delta import DeltaProgram
from runnel.engine import Input
from runnel.errors import InternalError
from runnel.relations import PostgresTable, Reader, StreamRelation


def bind(
    program: DeltaProgram,
    table: StreamTable,
    base: Reader,
    streams: Reader,
    snapshot: str,
    pinned: Mapping[int, int],
    pages: Mapping[int, int],
) -> tuple[Input, ...]:
    """One input per leaf. `pinned` holds the version that this refresh reads of each other relation."""
    return tuple(_input(leaf, table, base, streams, snapshot, pinned, pages) for leaf in program.leaves)


def _input(
    leaf: Leaf,
    table: StreamTable,
    base: Reader,
    streams: Reader,
    snapshot: str,
    pinned: Mapping[int, int],
    pages: Mapping[int, int],
) -> Input:
    dependency = _dependency(table, leaf.source.relid)
    match dependency.kind:
        case "table":
            assert dependency.capture_id is not None
            relation = PostgresTable(base, dependency.capture_id, pages.get(dependency.relid, 0))
            return Input(leaf, relation, table.frontier, snapshot)
        case "stream":
            assert dependency.upstream_id is not None
            stream = StreamRelation(streams, dependency.upstream_id)
            return Input(leaf, stream, dependency.consumed, pinned[dependency.relid])
        case "lake":
            raise InternalError("lake sources are bound elsewhere")


def _dependency(table: StreamTable, relid: int) -> Dependency:
    return next(d for d in table.dependencies if d.relid == relid)
