"""What a group's state keeps for each aggregate, and how its value is read back from it.

count(x)         rows with x
sum, avg         rows with x, their sum, and how many are NaN (they must be able to leave again)
                 where the scale is not declared: the sum as PostgreSQL's numeric, and a multiset of scales and
                 special values, so that NaN and infinities can leave and the sum keeps the scale PostgreSQL shows
min, max         a multiset of values
count(DISTINCT)  a multiset of values, and how many there are
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runnel.algebra import AggregateCall, SqlType

Kind = Literal["rows", "count", "integer", "decimal", "numeric", "extreme", "distinct"]

# The classes of a numeric value in its multiset: a scale, or one of the values that are no number.
_NAN, _INFINITY, _MINUS_INFINITY = -1, -2, -3

# Bytes of text; a btree entry has room for 2,704 with everything else in it.
_SHORT = 2_000


@dataclass(frozen=True, slots=True)
class Measure:
    """One aggregate call: its number, kind, and the multiset (part) it needs, if any."""

    number: int
    call: AggregateCall
    kind: Kind
    part: int | None

    @property
    def argument_type(self) -> SqlType:
        assert self.call.argument is not None
        return self.call.argument.type

    @property
    def counts(self) -> bool:
        return self.kind not in ("rows", "extreme", "distinct")

    @property
    def sums(self) -> bool:
        return self.kind in ("integer", "decimal", "numeric")

    @property
    def is_wide(self) -> bool:
        """Whether values of the multiset may be too wide for an index."""
        return self.kind in ("extreme", "distinct") and self.argument_type.is_wide

    @property
    def state_columns(self) -> tuple[tuple[str, str], ...]:
        """Names and types in the state table."""
        columns: list[tuple[str, str]] = []
        if self.counts:
            columns.append((f"n{self.number}", "bigint"))
        if self.sums:
            columns.append((f"s{self.number}", "numeric"))
        if self.kind == "decimal":
            columns.append((f"x{self.number}", "bigint"))
        if self.kind == "distinct":
            columns.append((f"d{self.number}", "bigint"))
        return tuple(columns)

    @property
    def additive_columns(self) -> tuple[str, ...]:
        """The state columns that a delta row carries; the others come from a multiset."""
        if self.kind in ("numeric", "distinct"):
            return ()
        return tuple(name for name, _ in self.state_columns)

    @property
    def multiset_type(self) -> str:
        return "integer" if self.kind == "numeric" else self.argument_type.text

    def carried_value(self, sql: str) -> str:
        """The argument as a leaf sends it: equal values have one form where equality decides."""
        type_ = self.argument_type
        if self.kind == "distinct" or (self.kind == "extreme" and type_.decimal_scale is None):
            return type_.canonical(sql)
        return type_.carried(sql)


def measures(calls: tuple[AggregateCall, ...]) -> tuple[Measure, ...]:
    found: list[Measure] = []
    parts = 0
    for number, call in enumerate(calls, 1):
        kind = _kind(call)
        needs_part = kind in ("numeric", "extreme", "distinct")
        parts += needs_part
        found.append(Measure(number, call, kind, parts if needs_part else None))
    return tuple(found)


def _kind(call: AggregateCall) -> Kind:
    if call.argument is None:
        return "rows"
    if call.function == "count":
        return "distinct" if call.distinct else "count"
    if call.function in ("min", "max"):
        return "extreme"
    if call.argument.type.is_integer:
        return "integer"
    return "decimal" if call.argument.type.decimal_scale is not None else "numeric"


def value(measure: Measure, multiset: str, keys: int) -> str:
    """The aggregate's value as SQL over the state row `s`."""
    n, s, x, d = (f"s.{letter}{measure.number}" for letter in "nsxd")
    match measure.kind:
        case "rows":
            return "s.n"
        case "count":
            return n
        case "distinct":
            return d
        case "extreme":
            return _extreme(measure, multiset, keys)
        case "integer":
            total = f"{s}::bigint" if measure.argument_type.base != "bigint" else s
            return f"CASE WHEN {n} > 0 THEN {_sum_or_average(measure, total, s, n)} END"
        case "decimal":
            number = _sum_or_average(measure, s, s, n)
            return f"CASE WHEN {x} > 0 THEN 'NaN'::numeric WHEN {n} > 0 THEN {number} END"
        case "numeric":
            return _undeclared(measure, multiset, keys, s, n)


def _sum_or_average(measure: Measure, total: str, exact: str, count: str) -> str:
    return f"{exact} / {count}::numeric" if measure.call.function == "avg" else total


def _extreme(measure: Measure, multiset: str, keys: int) -> str:
    direction = "DESC" if measure.call.function == "max" else "ASC"
    among = f"SELECT m.v FROM {multiset} AS m WHERE {same_group('m', 's', keys)}"
    first = f"ORDER BY m.v {direction} LIMIT 1"
    if not measure.is_wide:
        return f"({among} {first})"
    short = indexed_in_order("m.v")
    either = f"({among} AND {short} {first}) UNION ALL ({among} AND NOT {short} {first})"
    return f"(SELECT m.v FROM ({either}) AS m {first})"


def indexed_in_order(value_sql: str) -> str:
    """Whether a wide value is short enough for an entry of an ordered index, which holds only those."""
    return f"octet_length({value_sql}::text) <= {_SHORT}"


def same_value(measure: Measure, left: str, right: str) -> str:
    """Equal values of a multiset; a wide one is found by its hash."""
    same = f"{left}.v = {right}.v"
    return f"{value_hash(f'{left}.v')} = {value_hash(f'{right}.v')} AND {same}" if measure.is_wide else same


def value_hash(value_sql: str) -> str:
    return f"hash_record_extended(ROW({value_sql}), 0)"


def _undeclared(measure: Measure, multiset: str, keys: int, total: str, count: str) -> str:
    among = f"FROM {multiset} AS m WHERE {same_group('m', 's', keys)}"
    exact = f"round({total}, (SELECT max(m.v) {among} AND m.v >= 0))"
    return (
        f"(CASE WHEN {count} = 0 THEN NULL"
        f" WHEN EXISTS (SELECT {among} AND m.v = {_NAN})"
        f" OR (SELECT count(*) = 2 {among} AND m.v IN ({_INFINITY}, {_MINUS_INFINITY})) THEN 'NaN'::numeric"
        f" WHEN EXISTS (SELECT {among} AND m.v = {_INFINITY}) THEN 'Infinity'::numeric"
        f" WHEN EXISTS (SELECT {among} AND m.v = {_MINUS_INFINITY}) THEN '-Infinity'::numeric"
        f" ELSE {_sum_or_average(measure, exact, exact, count)} END)"
    )


def numeric_class(value_sql: str) -> str:
    """The class of a numeric value: its scale, or a number below zero for what is no number."""
    return (
        f"(CASE WHEN {value_sql} = 'NaN' THEN {_NAN} WHEN {value_sql} = 'Infinity' THEN {_INFINITY}"
        f" WHEN {value_sql} = '-Infinity' THEN {_MINUS_INFINITY} ELSE scale({value_sql}) END)"
    )


def finite(value_sql: str) -> str:
    return f"({value_sql} > '-Infinity' AND {value_sql} < 'Infinity')"


def same_group(left: str, right: str, keys: int) -> str:
    """Located by hash, decided by the typed keys."""
    conditions = [f"{left}.h = {right}.h"]
    conditions += [f"{left}.k{i} IS NOT DISTINCT FROM {right}.k{i}" for i in range(1, keys + 1)]
    return " AND ".join(conditions)


def group_hash(keys: list[str]) -> str:
    return f"hash_record_extended(ROW({', '.join(keys)}), 0)" if keys else "0::bigint"
