"""The nodes of a query: sources, expressions that stay in PostgreSQL's form, and one root above them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runnel.algebra.types import SqlType

SourceKind = Literal["table", "stream", "lake"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a source; `number` is its attribute number, which survives renames."""

    name: str
    type: SqlType
    number: int


@dataclass(frozen=True, slots=True)
class Source:
    """A relation as the query names it: one occurrence of it under one alias."""

    alias: str
    relid: int
    kind: SourceKind
    name: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True, slots=True)
class Expr:
    """A scalar expression as PostgreSQL SQL whose columns are written `alias.column`."""

    sql: str
    type: SqlType
    columns: frozenset[tuple[str, str]]
    may_raise: bool

    @property
    def aliases(self) -> frozenset[str]:
        return frozenset(alias for alias, _ in self.columns)


@dataclass(frozen=True, slots=True)
class Join:
    """An inner equi-join of the query's two sources: pairs of equal expressions, left and right."""

    pairs: tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate; `argument` is None for count(*). A FILTER is already inside the argument."""

    function: Literal["count", "sum", "avg", "min", "max"]
    argument: Expr | None
    distinct: bool


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the result."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Groups by `keys`; `outputs` and `having` are SQL over g.k1…, g.f1…; `shown` tells which
    output holds which key as it is, or None for a key that is not shown."""

    keys: tuple[Expr, ...]
    calls: tuple[AggregateCall, ...]
    outputs: tuple[str, ...]
    having: str | None
    shown: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Bag:
    """Plain rows, duplicates kept."""

    outputs: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query of one stage: sources, at most one join, predicates, and a root."""

    sources: tuple[Source, ...]
    join: Join | None
    predicates: tuple[Expr, ...]
    root: Aggregate | Bag
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class LeafColumn:
    """A column that a leaf delivers: its name by position, its SQL, and how it travels."""

    name: str
    sql: str
    carrier: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """What is asked of one source: columns, predicates that cannot raise, and the join keys by name.

    `consolidate`: an expression here could raise, so rows that came and went cancel before it is evaluated.
    """

    name: str
    source: Source
    used: tuple[Column, ...]
    columns: tuple[LeafColumn, ...]
    predicates: tuple[str, ...]
    keys: tuple[LeafColumn, ...]
    key_types: tuple[SqlType, ...]
    key_sql: tuple[str, ...]
    consolidate: bool
