"""The contract that every versioned relation keeps: three questions, and the law that ties them together.

    scan(b) = scan(a) + changes(a, b), where scan(a) was taken when a was current

`rows` and `scan` are asked only where that version is at hand: a PostgreSQL table at the reader's snapshot, a
stream table before or after the running refresh, a DuckLake table at any snapshot that lives. Every answer is a
list of reads that tasks may run side by side; together they give the leaf's columns and a weight `w`.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from runnel.algebra import Leaf
from runnel.relations.read import Parameter, Read

V_contra = TypeVar("V_contra", contravariant=True)


class Relation(Protocol, Generic[V_contra]):
    """A relation whose versions are of one type."""

    def changes(self, leaf: Leaf, after: V_contra, upto: V_contra, parts: int = 1) -> list[Read]:
        """Weighted rows that lead from one version to another."""
        ...

    def rows(self, leaf: Leaf, at: V_contra, keys: tuple[Parameter, ...]) -> Read:
        """The rows whose join keys are among `keys` (one list per key column)."""
        ...

    def scan(self, leaf: Leaf, at: V_contra, parts: int = 1) -> list[Read]:
        """All rows."""
        ...
