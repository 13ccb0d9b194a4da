"""Bag: plain rows with duplicates.

plain law        π σ (R), every duplicate kept
incremental law  Δ(π σ R) = π σ (ΔR), consolidated; −n takes n of the equal rows away

Rows are equal by their record image, located by the hash of all columns. Fewer rows found than −n asks for is
corruption and stops the refresh.
"""

from __future__ import annotations

from dataclasses import dataclass

from runnel.algebra import Bag, Expr
from runnel.delta.aggregate import log_rows
from runnel.delta.measures import group_hash
from runnel.delta.program import STAGED, Statement, Target, columns, positions, quote
from runnel.delta.text import with_query


@dataclass(frozen=True, slots=True)
class BagStage:
    target: Target
    root: Bag
    lateral: str
    residual: list[Expr]

    def setup(self) -> list[Statement]:
        names = [quote(output.name) for output in self.target.outputs]
        index = f"CREATE INDEX {self.target.index('hash')} ON {self.target.result} (({group_hash(names)}))"
        return [self.target.drop_index("key"), self.target.drop_index("hash"), Statement("key", index)]

    def rows(self) -> str:
        """The query's rows over the staged ones, each with its weight."""
        outputs = zip(self.root.outputs, self.target.outputs, strict=True)
        fields = [f"({expr.sql})::{o.type.text} AS c{i}" for i, (expr, o) in enumerate(outputs, 1)]
        where = " AND ".join(f"({expr.sql})" for expr in self.residual)
        select = f"SELECT {', '.join([*fields, 'staged.w'])}\n  FROM {STAGED}\n  {self.lateral}"
        return f"{select}\n  WHERE {where}" if where else select

    def apply_delta(self) -> list[Statement]:
        target, result, names = self.target, self.target.result, positions(self.target)
        same = f"record_image_eq(ROW({columns(target, 'r.')}), ROW({positions(target, 'd.')}))"
        hash_r = group_hash([f"r.{quote(o.name)}" for o in target.outputs])
        wanted = "coalesce((SELECT sum(-w) FROM d WHERE w < 0), 0)::bigint"
        ctes = [
            ("rows", self.rows()),
            ("d", self._consolidated()),
            ("hit", "SELECT r.ctid AS at, -d.w AS n, row_number() OVER (PARTITION BY d.id) AS i"
             f" FROM d JOIN {result} AS r ON {hash_r} = d.h AND {same} WHERE d.w < 0"),
            ("gone", f"DELETE FROM {result} AS r USING hit WHERE r.ctid = hit.at AND hit.i <= hit.n RETURNING 1"),
            ("new", f"INSERT INTO {result} ({columns(target)})"
             f" SELECT {names} FROM d CROSS JOIN generate_series(1, d.w)"),
            ("log", log_rows(target, f"SELECT w, {names} FROM d")),
        ]  # fmt: skip
        counts = (
            f"{wanted} AS minus, coalesce((SELECT sum(w) FROM d WHERE w > 0), 0)::bigint AS plus,"
            f" {wanted} - (SELECT count(*) FROM gone) AS negative"
        )
        return [Statement("result", with_query(ctes, f"SELECT {counts}"))]

    def _consolidated(self) -> str:
        """Equal by image: a numeric of no declared scale also by its text, where 1.0 is not 1.00."""
        names = positions(self.target)
        images = [f"c{i}::text" for i, o in enumerate(self.target.outputs, 1) if o.type.text == "numeric"]
        h = group_hash([f"c{i}" for i in range(1, len(self.target.outputs) + 1)])
        return (
            f"SELECT row_number() OVER () AS id, {h} AS h, {names}, sum(w)::bigint AS w FROM rows"
            f" GROUP BY {', '.join([names, *images])} HAVING sum(w) <> 0"
        )

    def content(self) -> str:
        names = positions(self.target, "q.")
        return f"SELECT {names} FROM ({self.rows()}) AS q CROSS JOIN generate_series(1, q.w)"
