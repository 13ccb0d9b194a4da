"""The first part of every apply statement: staged rows as typed deltas, whichever way they were combined.

Both placements end in the same relations: `d` with one row per group (keys, h, n and the added sums), and for
each multiset `v<part>` with one row per group and value. The laws of state and result only know these.
"""

from __future__ import annotations

from runnel.algebra import Aggregate, Expr
from runnel.delta.measures import Measure, finite, group_hash, numeric_class
from runnel.delta.program import STAGED


def grouped_inputs(root: Aggregate, measures: tuple[Measure, ...]) -> list[tuple[str, str]]:
    """From rows that Spark has grouped: casts, nothing else."""
    keys = [f"staged.k{i}::{key.type.text} AS k{i}" for i, key in enumerate(root.keys, 1)]
    sums = [_added(name) for measure in measures for name in measure.additive_columns]
    ctes = [("d0", f"SELECT {', '.join([*keys, 'staged.n', *sums])} FROM {STAGED} WHERE staged.part = 0")]
    for measure in measures:
        if measure.part:
            fields = [*keys, f"staged.v::{measure.argument_type.text} AS v", "staged.n"]
            where = f"staged.part = {measure.part}"
            ctes.append((f"w{measure.part}", f"SELECT {', '.join(fields)} FROM {STAGED} WHERE {where}"))
    return ctes


def _added(name: str) -> str:
    cast = "::numeric" if name.startswith("s") else ""
    return f"coalesce(staged.{name}{cast}, 0) AS {name}"


def raw_inputs(
    root: Aggregate, measures: tuple[Measure, ...], lateral: str, residual: list[Expr]
) -> list[tuple[str, str]]:
    """From joined rows: PostgreSQL evaluates what is left of the query and groups."""
    fields = [f"{key.sql} AS k{i}" for i, key in enumerate(root.keys, 1)]
    fields += [f"{m.call.argument.sql} AS a{m.number}" for m in measures if m.call.argument is not None]
    where = f"\n  WHERE {' AND '.join(f'({expr.sql})' for expr in residual)}" if residual else ""
    rows = f"SELECT {', '.join([*fields, 'staged.w'])}\n  FROM {STAGED}\n  {lateral}{where}"
    names = [f"k{i}" for i in range(1, len(root.keys) + 1)]
    group = f" GROUP BY {', '.join(names)}" if names else ""
    sums = [_summed(measure, name) for measure in measures for name in measure.additive_columns]
    total = "coalesce(sum(w), 0)::bigint AS n"
    ctes = [("r", rows), ("d0", f"SELECT {', '.join([*names, total, *sums])} FROM r{group}")]
    for measure in measures:
        if measure.part:
            column = f"a{measure.number}"
            picked = ", ".join([*names, f"{column} AS v", "sum(w)::bigint AS n"])
            grouping = ", ".join([*names, column])
            where = f"WHERE {column} IS NOT NULL"
            ctes.append((f"w{measure.part}", f"SELECT {picked} FROM r {where} GROUP BY {grouping}"))
    return ctes


def _summed(measure: Measure, name: str) -> str:
    argument = f"a{measure.number}"
    match name[0]:
        case "n":
            return f"coalesce(sum(w) FILTER (WHERE {argument} IS NOT NULL), 0)::bigint AS {name}"
        case "x":
            return f"coalesce(sum(w) FILTER (WHERE {argument} = 'NaN'), 0)::bigint AS {name}"
        case _:
            kept = f" FILTER (WHERE {argument} <> 'NaN')" if measure.kind == "decimal" else ""
            return f"coalesce(sum({argument}::numeric * w){kept}, 0) AS {name}"


def hashed(root: Aggregate, measures: tuple[Measure, ...]) -> list[tuple[str, str]]:
    """`d` and `v<part>`: with the group's hash, and values of undeclared scale as sums and classes."""
    names = [f"k{i}" for i in range(1, len(root.keys) + 1)]
    ctes = [(f"v{m.part}", _multiset_delta(m, names)) for m in measures if m.part]
    fields = ["n", *(name for m in measures for name in m.additive_columns)]
    summed = [m for m in measures if m.kind == "numeric"]
    sources = [("d0", {name: name for name in fields})]
    for m in summed:
        sums = {f"n{m.number}": "n", f"s{m.number}": f"CASE WHEN {finite('v')} THEN v * n ELSE 0 END"}
        sources.append((f"w{m.part}", sums))
    fields += [name for m in summed for name in (f"n{m.number}", f"s{m.number}")]
    if not summed:
        return [*ctes, ("d", f"SELECT {group_hash(names)} AS h, d0.* FROM d0")]
    return [*ctes, ("d", added_up(names, f"{group_hash(names)} AS h", fields, sources))]


def added_up(
    keys: list[str], hash_: str, fields: list[str], sources: list[tuple[str, dict[str, str]]]
) -> str:
    """The fields of several relations added per group; what a relation does not know of a field is 0."""
    parts = [
        f"SELECT {', '.join([*keys, *(f'{known.get(name, 0)} AS {name}' for name in fields)])} FROM {relation}"
        for relation, known in sources
    ]
    sums = [f"sum({name}){'' if name.startswith('s') else '::bigint'} AS {name}" for name in fields]
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join([hash_, *keys, *sums])} FROM ({' UNION ALL '.join(parts)}) AS q{group}"


def _multiset_delta(measure: Measure, names: list[str]) -> str:
    value = numeric_class("v") if measure.kind == "numeric" else "v"
    fields = ", ".join([f"{group_hash(names)} AS h", *names, f"{value} AS v", "sum(n)::bigint AS n"])
    group = ", ".join(str(i) for i in range(1, len(names) + 3))
    return f"SELECT {fields} FROM w{measure.part} GROUP BY {group} HAVING sum(n) <> 0"
