"""The combine queries: what Spark tasks run, in text that DuckDB and Spark SQL both read.

A grouped stage gives one row per group (part 0: the added counts and sums) and, for each multiset, one row per
group and value (part 1, 2, …). A raw stage gives the joined rows, consolidated. Aggregates are linear in the
weights: f(R + ΔR) = f(R) + f(ΔR) for counts, sums and multisets, so the same query serves a delta and a fill.
"""

from __future__ import annotations

from dataclasses import dataclass

from runnel.delta.measures import Measure
from runnel.delta.program import Field


@dataclass(frozen=True, slots=True)
class Grouping:
    """The leaf columns behind a grouped stage: keys, and each measure's argument."""

    keys: tuple[Field, ...]
    arguments: tuple[tuple[Measure, str | None], ...]

    @property
    def staged(self) -> tuple[Field, ...]:
        sums = [
            Field(name, "text" if name.startswith("s") else "bigint")
            for measure, _ in self.arguments
            for name in measure.additive_columns
        ]
        keys = [Field(f"k{i}", key.carrier) for i, key in enumerate(self.keys, 1)]
        return (Field("part", "bigint"), *keys, Field("v", "text"), Field("n", "bigint"), *sums)


def grouped(block: str, grouping: Grouping) -> str:
    selects = [_sums(grouping)]
    selects += [_multiset(grouping, m, column) for m, column in grouping.arguments if m.part and column]
    return f"WITH x AS (\n{block}\n)\n" + "\nUNION ALL\n".join(selects)


def _sums(grouping: Grouping) -> str:
    fields = ["CAST(0 AS BIGINT) AS part", *_keys(grouping), "CAST(NULL AS STRING) AS v", _weight("n")]
    for measure, column in grouping.arguments:
        fields += [_added(measure, name, column or "") for name in measure.additive_columns]
    return f"SELECT {', '.join(fields)} FROM x{_group_by(grouping)}"


def _added(measure: Measure, name: str, column: str) -> str:
    match name[0]:
        case "n":
            return f"CAST(SUM(CASE WHEN {column} IS NOT NULL THEN w ELSE 0 END) AS BIGINT) AS {name}"
        case "x":
            return f"CAST(SUM(CASE WHEN {column} = 'NaN' THEN w ELSE 0 END) AS BIGINT) AS {name}"
        case _:
            type_ = measure.argument_type
            number = column if type_.is_integer else f"NULLIF({column}, 'NaN')"
            product = f"CAST({number} AS {type_.decimal}) * CAST(w AS DECIMAL(10,0))"
            return f"CAST(CAST(SUM({product}) AS DECIMAL(38,{type_.decimal_scale or 0})) AS STRING) AS {name}"


def _multiset(grouping: Grouping, measure: Measure, column: str) -> str:
    part = f"CAST({measure.part} AS BIGINT) AS part"
    fields = [part, *_keys(grouping), f"CAST({column} AS STRING) AS v", _weight("n")]
    for other, _ in grouping.arguments:
        fields += [f"CAST(NULL AS {_carrier(name)}) AS {name}" for name in other.additive_columns]
    group = ", ".join([*(key.name for key in grouping.keys), column])
    where = f"WHERE {column} IS NOT NULL"
    return f"SELECT {', '.join(fields)} FROM x {where} GROUP BY {group} HAVING SUM(w) <> 0"


def _carrier(name: str) -> str:
    return "STRING" if name.startswith("s") else "BIGINT"


def _weight(name: str) -> str:
    return f"CAST(COALESCE(SUM(w), 0) AS BIGINT) AS {name}"


def _keys(grouping: Grouping) -> list[str]:
    return [f"{key.name} AS k{i}" for i, key in enumerate(grouping.keys, 1)]


def _group_by(grouping: Grouping) -> str:
    return f" GROUP BY {', '.join(key.name for key in grouping.keys)}" if grouping.keys else ""


def raw_staged(columns: tuple[Field, ...]) -> tuple[Field, ...]:
    return (*columns, Field("w", "bigint"))


def raw(block: str, columns: tuple[Field, ...]) -> str:
    """The rows of the block with their weights added up; those that cancel are gone."""
    names = ", ".join(column.name for column in columns)
    group = f" GROUP BY {names}" if columns else ""
    fields = ", ".join([*(column.name for column in columns), "CAST(SUM(w) AS BIGINT) AS w"])
    return f"WITH x AS (\n{block}\n)\nSELECT {fields} FROM x{group} HAVING SUM(w) <> 0"
