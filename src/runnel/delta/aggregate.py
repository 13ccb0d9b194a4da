"""Aggregate.

plain law        γ(R): one row per group of keys
incremental law  state' = state + f(ΔR) for the groups of ΔR; result' = result − rows of those groups + γ(state')

A group dies when its count reaches zero; a count below zero is corruption and stops the refresh. HAVING filters
after state, so that a hidden group can come back. Without keys there is one group, which never dies. Where the
select list leaves a key out, the old rows of the groups are computed from the state before it moves.
"""

from __future__ import annotations

from dataclasses import dataclass

from runnel.algebra import Aggregate
from runnel.delta.inputs import added_up
from runnel.delta.measures import (
    Measure,
    group_hash,
    indexed_in_order,
    same_group,
    same_value,
    value,
    value_hash,
)
from runnel.delta.program import Statement, Target, columns, quote
from runnel.delta.result import change_rows, log_rows, row_index
from runnel.delta.text import with_query


@dataclass(frozen=True, slots=True)
class AggregateStage:
    """The apply statements of a stage with an aggregate on top."""

    target: Target
    root: Aggregate
    measures: tuple[Measure, ...]
    inputs: list[tuple[str, str]]

    @property
    def keys(self) -> list[str]:
        return [f"k{i}" for i in range(1, len(self.root.keys) + 1)]

    @property
    def state_columns(self) -> list[tuple[str, str]]:
        keys = [(f"k{i}", key.type.text) for i, key in enumerate(self.root.keys, 1)]
        kept = [column for measure in self.measures for column in measure.state_columns]
        return [("h", "bigint"), *keys, ("n", "bigint"), *kept]

    @property
    def hides_keys(self) -> bool:
        """Whether a group's row cannot be told by its key, because the select list leaves it out."""
        return any(number not in self.root.shown for number in range(1, len(self.root.keys) + 1))

    @property
    def parts(self) -> list[Measure]:
        return [measure for measure in self.measures if measure.part]

    # setup

    def setup(self) -> list[Statement]:
        statements = [*_table(self.target.state, self.state_columns, "(h)")]
        keys = [column for column in self.state_columns if column[0] in self.keys]
        for measure in self.parts:
            fields = [("h", "bigint"), *keys, ("v", measure.multiset_type), ("n", "bigint")]
            statements += _table(self.multiset(measure), fields, *_multiset_indexes(measure))
        return [Statement("state", sql) for sql in statements] + self._result_index()

    def _result_index(self) -> list[Statement]:
        """The key of the result: located by hash, and unique as GROUP BY is where an index can hold it."""
        if self.hides_keys:
            return row_index(self.target)
        target = self.target
        statements = [target.drop_index("key"), target.drop_index("hash")]
        if self.keys:
            shown = [self._shown_name(i) for i in range(1, len(self.keys) + 1)]
            hashed = f"CREATE INDEX {target.index('hash')} ON {target.result} (({group_hash(shown)}))"
            statements.append(Statement("key", hashed))
            if not any(key.type.is_wide for key in self.root.keys):
                unique = f"({', '.join(shown)}) NULLS NOT DISTINCT"
                create = f"CREATE UNIQUE INDEX {target.index('key')} ON {target.result} {unique}"
                statements.append(Statement("key", create))
        return statements

    def _shown(self, key: int) -> int:
        return self.root.shown.index(key)

    def multiset(self, measure: Measure) -> str:
        return self.target.multiset(measure.part or 0)

    # delta

    def apply_delta(self) -> list[Statement]:
        state = Statement("state", self._update_state())
        if not self.hides_keys:
            return [state, Statement("result", self._update_result())]
        return [self._touched_rows(-1), state, self._touched_rows(1)]

    def _touched_rows(self, weight: int) -> Statement:
        """The rows of the touched groups as the state gives them: taken away before it moves, put in after."""
        row = self._final("c", None, same_group("s", "t", len(self.keys)))
        rows = f"SELECT f.*, {weight}::bigint AS w FROM d AS t CROSS JOIN LATERAL ({row}) AS f"
        return change_rows(self.target, self.inputs, rows)

    def _update_state(self) -> str:
        ctes = list(self.inputs)
        checks = ["(SELECT count(*) FROM st WHERE coalesce(was, 0) + n < 0)"]
        for measure in self.parts:
            ctes += self._update_multiset(measure)
            checks.append(f"(SELECT count(*) FROM change{measure.part} WHERE was + n < 0)")
        ctes += self._update_groups()
        return with_query(ctes, f"SELECT {' + '.join(checks)} AS negative")

    def _update_multiset(self, measure: Measure) -> list[tuple[str, str]]:
        p, table = measure.part, self.multiset(measure)
        keys = ", ".join(f"v.{name}" for name in ["h", *self.keys, "v", "n"])
        match_ = f"{same_group('m', 'v', len(self.keys))} AND {same_value(measure, 'm', 'v')}"
        names = ", ".join(["h", *self.keys, "v", "n"])
        return [
            (
                f"change{p}",
                f"SELECT {keys}, coalesce(m.n, 0) AS was, m.ctid AS at"
                f" FROM v{p} AS v LEFT JOIN {table} AS m ON {match_}",
            ),
            (
                f"change{p}_gone",
                f"DELETE FROM {table} AS m USING change{p} AS c WHERE m.ctid = c.at AND c.was + c.n = 0",
            ),
            (
                f"change{p}_more",
                f"UPDATE {table} AS m SET n = c.was + c.n FROM change{p} AS c"
                f" WHERE m.ctid = c.at AND c.was + c.n <> 0",
            ),
            (
                f"change{p}_new",
                f"INSERT INTO {table} ({names}) SELECT {names} FROM change{p} WHERE at IS NULL",
            ),
        ]

    def _update_groups(self) -> list[tuple[str, str]]:
        state = self.target.state
        names = [name for name, _ in self.state_columns if name not in ("h", *self.keys)]
        fields = ", ".join(["t.h", *(f"t.{name}" for name in [*self.keys, *names])])
        located = same_group("s", "t", len(self.keys))
        sets = ", ".join(f"{name} = s.{name} + c.{name}" for name in names)
        columns_ = ", ".join(name for name, _ in self.state_columns)
        alive, new = ("c.was + c.n <> 0", "n <> 0") if self.keys else ("true", "true")
        ctes = [
            ("t", self._added(names)),
            ("st", f"SELECT {fields}, s.n AS was, s.ctid AS at FROM t LEFT JOIN {state} AS s ON {located}"),
            ("st_more", f"UPDATE {state} AS s SET {sets} FROM st AS c WHERE s.ctid = c.at AND {alive}"),
            (
                "st_new",
                f"INSERT INTO {state} ({columns_}) SELECT {columns_} FROM st WHERE at IS NULL AND {new}",
            ),
        ]
        if self.keys:
            gone = f"DELETE FROM {state} AS s USING st AS c WHERE s.ctid = c.at AND c.was + c.n = 0"
            ctes.append(("st_gone", gone))
        return ctes

    def _added(self, names: list[str]) -> str:
        """The groups' deltas, with what the multisets tell: values that came to be, minus those that are gone."""
        distinct = [m for m in self.measures if m.kind == "distinct"]
        if not distinct:
            return "SELECT * FROM d"
        crossed = "(was + n > 0)::integer - (was > 0)::integer"
        sources = [("d", {name: name for name in names if not name.startswith("d")})]
        sources += [(f"change{m.part}", {f"d{m.number}": crossed}) for m in distinct]
        return added_up(self.keys, f"{group_hash(self.keys)} AS h", names, sources)

    def _update_result(self) -> str:
        target, result = self.target, self.target.result
        old, new = _positions(target, "p.o"), _positions(target, "p.f")
        changed = f"record_image_ne(ROW({old}), ROW({new}))"
        sets = ", ".join(f"{quote(o.name)} = p.f{i}" for i, o in enumerate(target.outputs, 1))
        ctes = [
            *self.inputs,
            ("p", self._pairs()),
            ("gone", f"DELETE FROM {result} AS r USING p WHERE r.ctid = p.at AND NOT p.lives"),
            (
                "changed",
                f"UPDATE {result} AS r SET {sets} FROM p WHERE r.ctid = p.at AND p.lives AND {changed}",
            ),
            (
                "new",
                f"INSERT INTO {result} ({columns(target)}) SELECT {new} FROM p WHERE at IS NULL AND lives",
            ),
            ("minus", f"SELECT {old} FROM p WHERE at IS NOT NULL AND (NOT lives OR {changed})"),
            ("plus", f"SELECT {new} FROM p WHERE lives AND (at IS NULL OR {changed})"),
            ("log", log_rows(target, "SELECT -1 AS w, * FROM minus UNION ALL SELECT 1, * FROM plus")),
        ]
        counts = "(SELECT count(*) FROM minus) AS minus, (SELECT count(*) FROM plus) AS plus"
        return with_query(ctes, f"SELECT {counts}")

    def _pairs(self) -> str:
        """Each touched group with its old row in the result and its fresh row from the state."""
        target, n = self.target, len(self.keys)
        located = [f"r.{self._shown_name(i)} IS NOT DISTINCT FROM t.k{i}" for i in range(1, n + 1)]
        hash_ = group_hash([f"r.{self._shown_name(i)}" for i in range(1, n + 1)])
        match_ = " AND ".join([f"{hash_} = t.h", *located]) if self.keys else "true"
        old = ", ".join(f"r.{quote(o.name)} AS o{i}" for i, o in enumerate(target.outputs, 1))
        group = same_group("s", "t", n)
        return (
            f"SELECT r.at, f.lives IS NOT NULL AS lives, {_positions(target, 'r.o')}, {_positions(target, 'f.f')}"
            f" FROM d AS t LEFT JOIN LATERAL (SELECT r.ctid AS at, {old} FROM {target.result} AS r WHERE {match_})"
            f" AS r ON true LEFT JOIN LATERAL ({self._final('f', 'true AS lives', group)}) AS f ON true"
        )

    def _shown_name(self, key: int) -> str:
        return quote(self.target.outputs[self._shown(key)].name)

    def final_rows(self) -> str:
        """The result rows of all groups in the state."""
        return self._final("c", None, None)

    def _final(self, prefix: str, extra: str | None, condition: str | None) -> str:
        values = [f"s.{name} AS {name}" for name in self.keys]
        values += [f"{value(m, self.multiset(m), len(self.keys))} AS f{m.number}" for m in self.measures]
        outputs = zip(self.root.outputs, self.target.outputs, strict=True)
        fields = [f"({sql})::{o.type.text} AS {prefix}{i}" for i, (sql, o) in enumerate(outputs, 1)]
        where = " AND ".join(f"({part})" for part in (condition, self.root.having) if part)
        select = ", ".join([extra, *fields] if extra else fields)
        groups = f"CROSS JOIN LATERAL (SELECT {', '.join(values)}) AS g"
        query = f"SELECT {select} FROM {self.target.state} AS s {groups}"
        return f"{query} WHERE {where}" if where else query

    # fill

    def rebuild_state(self) -> list[Statement]:
        """State from whole groups: emptied, then plain inserts."""
        names = ", ".join(name for name, _ in self.state_columns)
        statements = [f"DELETE FROM {self.target.state}"]
        for measure in self.parts:
            fields = ", ".join(["h", *self.keys, "v", "n"])
            statements.append(f"DELETE FROM {self.multiset(measure)}")
            insert = f"INSERT INTO {self.multiset(measure)} ({fields}) SELECT {fields} FROM v{measure.part}"
            statements.append(with_query(self.inputs, insert))
        statements.append(
            with_query(self.inputs, f"INSERT INTO {self.target.state} ({names}) {self._new_groups()}")
        )
        return [Statement("state", sql) for sql in statements]

    def _new_groups(self) -> str:
        fields = [f"d.{name}" if not self._is_distinct(name) else self._distinct_count(name)
                  for name, _ in self.state_columns]  # fmt: skip
        where = " WHERE d.n <> 0" if self.keys else ""
        return f"SELECT {', '.join(fields)} FROM d{where}"

    def _is_distinct(self, name: str) -> bool:
        return name.startswith("d")

    def _distinct_count(self, name: str) -> str:
        measure = next(m for m in self.measures if name == f"d{m.number}")
        return f"(SELECT count(*) FROM {self.multiset(measure)} AS m WHERE {same_group('m', 'd', len(self.keys))})"


def _positions(target: Target, prefix: str) -> str:
    return ", ".join(f"{prefix}{i}" for i in range(1, len(target.outputs) + 1))


def _multiset_indexes(measure: Measure) -> list[str]:
    if not measure.is_wide:
        return ["(h, v)"]
    ordered = [f"(h, v) WHERE {indexed_in_order('v')}"] if measure.kind == "extreme" else []
    return [f"(h, ({value_hash('v')}))", *ordered]


def _table(name: str, fields: list[tuple[str, str]], *indexes: str) -> list[str]:
    columns_ = ", ".join(f"{column} {type_}" for column, type_ in fields)
    return [f"CREATE TABLE {name} ({columns_})", *(f"CREATE INDEX ON {name} {index}" for index in indexes)]
