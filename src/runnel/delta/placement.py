"""Each expression runs where its row lives: leaves get what touches one source and cannot raise.

Two placements exist. *Grouped*: every key, argument and predicate is evaluated by a leaf, and the combine
groups. *Raw*: some expression spans both sources or could raise before the join; then leaves deliver plain
columns, the combine only joins and consolidates, and PostgreSQL evaluates the rest on the staged rows, in the
query's own order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from runnel.algebra import Aggregate, Column, Expr, Leaf, LeafColumn, Query, Source
from runnel.delta.program import quote


@dataclass(slots=True)
class LeafBuilder:
    """Collects what one source has to deliver; names are shared by the whole program."""

    source: Source
    index: int
    columns: list[LeafColumn] = field(default_factory=list)
    predicates: list[Expr] = field(default_factory=list)
    keys: list[tuple[LeafColumn, Expr]] = field(default_factory=list)
    read: list[Expr] = field(default_factory=list)
    raising: bool = False

    def build(self) -> Leaf:
        names = {name for expr in (*self.read, *self.predicates) for _, name in expr.columns}
        used = tuple(column for column in self.source.columns if column.name in names)
        return Leaf(
            name=f"l{self.index}",
            source=self.source,
            used=used,
            columns=tuple(self.columns),
            predicates=tuple(expr.sql for expr in self.predicates),
            keys=tuple(column for column, _ in self.keys),
            key_types=tuple(expr.type for _, expr in self.keys),
            key_sql=tuple(expr.sql for _, expr in self.keys),
            consolidate=self.raising or any(expr.may_raise for expr in self.predicates),
        )


@dataclass(slots=True)
class Placement:
    """The leaves of a query while the compiler fills them, and what is left for PostgreSQL."""

    query: Query
    grouped: bool
    leaves: list[LeafBuilder]
    residual: list[Expr]
    _count: int = 0

    def add(self, leaf: LeafBuilder, sql: str, carrier: str, reads: Expr) -> str:
        """The name of a leaf column with this SQL, shared where one is there already."""
        for column in leaf.columns:
            if column.sql == sql:
                return column.name
        self._count += 1
        column = LeafColumn(f"c{self._count}", sql, carrier)
        leaf.columns.append(column)
        leaf.read.append(reads)
        leaf.raising = leaf.raising or reads.may_raise
        return column.name

    def owner(self, expr: Expr) -> LeafBuilder:
        """The leaf of an expression over at most one source."""
        return next((leaf for leaf in self.leaves if leaf.source.alias in expr.aliases), self.leaves[0])


def place(query: Query) -> Placement:
    """Leaves with their join keys and predicates; columns are added by the stage's root."""
    leaves = [LeafBuilder(source, index) for index, source in enumerate(query.sources)]
    grouped = isinstance(query.root, Aggregate) and all(
        _is_local(expr, query) for expr in (*_inputs(query.root), *query.predicates)
    )
    placement = Placement(query, grouped, leaves, [])
    for predicate in query.predicates:
        if _is_local(predicate, query):
            placement.owner(predicate).predicates.append(predicate)
        else:
            placement.residual.append(predicate)
    _place_keys(placement)
    return placement


def _inputs(root: Aggregate) -> Iterable[Expr]:
    yield from root.keys
    yield from (call.argument for call in root.calls if call.argument is not None)


def _is_local(expr: Expr, query: Query) -> bool:
    """One source, evaluated before the join without harm; of a lake, only columns as they are."""
    if len(expr.aliases) > 1 or (expr.may_raise and len(query.sources) > 1):
        return False
    source = next((source for source in query.sources if source.alias in expr.aliases), query.sources[0])
    return source.kind != "lake" or is_column(expr)


def is_column(expr: Expr) -> bool:
    return len(expr.columns) == 1 and expr.sql in {
        form for alias, name in expr.columns for form in (f"{alias}.{name}", f"{alias}.{quote(name)}")
    }


def _place_keys(placement: Placement) -> None:
    if placement.query.join is None:
        return
    for pair in placement.query.join.pairs:
        for leaf, expr in zip(placement.leaves, pair, strict=True):
            name = placement.add(leaf, expr.type.canonical(expr.sql), expr.type.carrier, expr)
            column = next(column for column in leaf.columns if column.name == name)
            leaf.keys.append((column, expr))


def raw_columns(placement: Placement, exprs: Iterable[Expr]) -> dict[str, list[tuple[str, Column]]]:
    """Carries every column of the expressions as it is: by alias, staged name and column."""
    found: dict[str, list[tuple[str, Column]]] = {leaf.source.alias: [] for leaf in placement.leaves}
    wanted = sorted({pair for expr in exprs for pair in expr.columns})
    for alias, name in wanted:
        leaf = next(leaf for leaf in placement.leaves if leaf.source.alias == alias)
        column = leaf.source.column(name)
        assert column is not None
        sql = f"{alias}.{quote(name)}"
        reads = Expr(sql, column.type, frozenset({(alias, name)}), may_raise=False)
        staged = placement.add(leaf, column.type.carried(sql), column.type.carrier, reads)
        found[alias].append((staged, column))
    return found


def lateral(raw: dict[str, list[tuple[str, Column]]]) -> str:
    """The staged columns under their own names and types again, so that expressions read as written."""
    parts = []
    for alias, items in raw.items():
        fields = ", ".join(
            f"staged.{name}::{column.type.text} AS {quote(column.name)}" for name, column in items
        )
        parts.append(f"CROSS JOIN LATERAL (SELECT {fields}) AS {alias}")
    return "\n  ".join(parts)
