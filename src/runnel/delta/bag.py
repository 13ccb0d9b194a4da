"""Bag: plain rows with duplicates.

plain law        π σ (R), every duplicate kept
incremental law  Δ(π σ R) = π σ (ΔR), consolidated; −n takes n of the equal rows away
"""

from __future__ import annotations

from dataclasses import dataclass

from runnel.algebra import Bag, Expr
from runnel.delta.program import STAGED, Statement, Target, positions
from runnel.delta.result import change_rows, row_index


@dataclass(frozen=True, slots=True)
class BagStage:
    target: Target
    root: Bag
    lateral: str
    residual: list[Expr]

    def setup(self) -> list[Statement]:
        return row_index(self.target)

    def rows(self) -> str:
        """The query's rows over the staged ones, each with its weight."""
        outputs = zip(self.root.outputs, self.target.outputs, strict=True)
        fields = [f"({expr.sql})::{o.type.text} AS c{i}" for i, (expr, o) in enumerate(outputs, 1)]
        where = " AND ".join(f"({expr.sql})" for expr in self.residual)
        select = f"SELECT {', '.join([*fields, 'staged.w'])}\n  FROM {STAGED}\n  {self.lateral}"
        return f"{select}\n  WHERE {where}" if where else select

    def apply_delta(self) -> list[Statement]:
        return [change_rows(self.target, [], self.rows())]

    def content(self) -> str:
        names = positions(self.target, "q.")
        return f"SELECT {names} FROM ({self.rows()}) AS q CROSS JOIN generate_series(1, q.w)"
