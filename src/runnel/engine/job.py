"""A program bound to versions: all that a task anywhere needs to compute a stage's delta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from runnel.algebra import Leaf
from runnel.delta import DeltaProgram, Field, Lookup
from runnel.relations import Relation, leaf_schema


@dataclass(frozen=True, slots=True)
class Input:
    """A leaf with the relation behind it, and the versions between which it is read."""

    leaf: Leaf
    relation: Relation[Any]
    old: Any
    new: Any

    @property
    def schema(self) -> pa.Schema:
        return leaf_schema([(column.name, column.carrier) for column in self.leaf.columns])


@dataclass(frozen=True, slots=True)
class Job:
    """One stage to be computed; `number` tells it from the others of its Spark job."""

    number: int
    name: str
    inputs: tuple[Input, ...]
    lookups: tuple[Lookup, ...]
    combine: str
    staged: tuple[Field, ...]
    limit: int
    whole: bool = False


def delta_job(number: int, name: str, program: DeltaProgram, inputs: tuple[Input, ...], limit: int) -> Job:
    return Job(number, name, inputs, program.lookups, program.combine_delta, program.staged, limit)


def full_job(number: int, name: str, program: DeltaProgram, inputs: tuple[Input, ...], limit: int) -> Job:
    return Job(number, name, inputs, (), program.combine_full, program.staged, limit, whole=True)
