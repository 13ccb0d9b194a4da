"""Binds a program's leaves to relations and versions: base relations at S, all others by pinned number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runnel.algebra import Leaf
from runnel.catalog.client import Dependency, StreamTable
from runnel.delta import DeltaProgram
from runnel.engine import Input
from runnel.refresh.lakes import Lakes
from runnel.relations import PostgresTable, Reader, StreamRelation


@dataclass(frozen=True, slots=True)
class Versions:
    """Where and at which versions a stream table's inputs are read.

    `pinned` holds the refresh number or the lake's snapshot of each input that is no plain table.
    """

    base: Reader
    streams: Reader
    snapshot: str
    pinned: Mapping[int, int]
    pages: Mapping[int, int]
    lakes: Lakes
    full: bool


def bind(program: DeltaProgram, table: StreamTable, versions: Versions) -> tuple[Input, ...]:
    return tuple(_input(leaf, table, versions) for leaf in program.leaves)


def _input(leaf: Leaf, table: StreamTable, versions: Versions) -> Input:
    dependency = _dependency(table, leaf.source.relid)
    new = versions.pinned.get(dependency.relid, 0)
    match dependency.kind:
        case "table":
            assert dependency.capture_id is not None
            pages = versions.pages.get(dependency.relid, 0)
            relation = PostgresTable(versions.base, dependency.capture_id, pages)
            return Input(leaf, relation, table.frontier, versions.snapshot)
        case "stream":
            assert dependency.upstream_id is not None
            return Input(
                leaf, StreamRelation(versions.streams, dependency.upstream_id), dependency.consumed, new
            )
        case "lake":
            after = None if versions.full else dependency.consumed
            whole = versions.full or len(table.dependencies) > 1
            return Input(leaf, versions.lakes.table(dependency, after, new, whole=whole), after, new)


def _dependency(table: StreamTable, relid: int) -> Dependency:
    return next(d for d in table.dependencies if d.relid == relid)
