"""Random queries of what compiles: projection, filter, a join of two sources, at most one aggregate.

Every query is one that PostgreSQL itself evaluates without an error over every content that the histories make,
also where an expression could raise.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.oracle.values import is_integer, is_number, is_text, is_time, literal


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a source or an expression over it, and its type as far as the generator cares."""

    sql: str
    type: str


@dataclass(frozen=True, slots=True)
class Relation:
    """What a query may read: a table, or an earlier stream table. `keys` says which columns may meet."""

    name: str
    fields: tuple[tuple[str, str], ...]
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """A stream table to be: its query, what it reads, the types in it, and the operators that it covers."""

    name: str
    sql: str
    reads: tuple[str, ...]
    operators: frozenset[str]
    types: frozenset[str]
    outputs: tuple[tuple[str, str], ...]


def make_query(rng: Random, name: str, relations: tuple[Relation, ...]) -> StreamQuery:
    return _Writer(rng, name, relations).query()


def comparable(one: str, other: str) -> bool:
    """Whether a join may compare columns of these types with = as the compiler admits it."""
    return (is_integer(one) and is_integer(other)) or _family(one) == _family(other)


def _family(type_: str) -> str:
    return type_.partition("(")[0]


class _Writer:
    """Writes one query; notes the operators and types on its way."""

    def __init__(self, rng: Random, name: str, relations: tuple[Relation, ...]) -> None:
        self.rng, self.name, self.relations = rng, name, relations
        self.operators: set[str] = set()
        self.types: set[str] = set()

    def query(self) -> StreamQuery:
        reads, from_, fields = self._from()
        where = self._where(fields)
        body = self._aggregate(fields) if self.rng.random() < 0.6 else self._bag(fields)
        select, tail, outputs = body
        text = f"SELECT {select} FROM {from_}{where}{tail}"
        return StreamQuery(self.name, text, reads, frozenset(self.operators), frozenset(self.types), outputs)

    # FROM

    def _from(self) -> tuple[tuple[str, ...], str, list[Field]]:
        one = self.rng.choice(self.relations)
        pairs = [(other, pairs) for other in self.relations if (pairs := self._pairs(one, other))]
        if pairs and self.rng.random() < 0.55:
            return self._join(one, *self.rng.choice(pairs))
        self.operators.add("scan")
        return (one.name,), f"{one.name} AS a", self._fields(one, "a")

    def _pairs(self, one: Relation, other: Relation) -> list[tuple[str, str]]:
        types, others = dict(one.fields), dict(other.fields)
        return [(k, m) for k in one.keys for m in other.keys if comparable(types[k], others[m])]

    def _join(
        self, one: Relation, other: Relation, pairs: list[tuple[str, str]]
    ) -> tuple[tuple[str, ...], str, list[Field]]:
        self.operators.add("self-join" if one.name == other.name else "join")
        fields = [*self._fields(one, "a"), *self._fields(other, "b")]
        types, others = dict(one.fields), dict(other.fields)
        same = [(k, m) for k, m in pairs if k == m]
        if same and self.rng.random() < 0.3:
            names = [k for k, _ in self.rng.sample(same, self.rng.randint(1, len(same)))]
            self.operators.add("using")
            self.types |= {types[name] for name in names}
            text = f"{one.name} AS a JOIN {other.name} AS b USING ({', '.join(_quoted(n) for n in names)})"
            return (one.name, other.name), text, fields
        chosen = self.rng.sample(pairs, min(len(pairs), self.rng.choice((1, 1, 1, 2))))
        if len(chosen) > 1:
            self.operators.add("several keys")
        if any(types[k] != others[m] for k, m in chosen):
            self.operators.add("cross-type key")
        self.types |= {types[k] for k, _ in chosen}
        on = " AND ".join(f"a.{_quoted(k)} = b.{_quoted(m)}" for k, m in chosen)
        return (
            (one.name, other.name),
            f"{one.name} AS a JOIN {other.name} AS b ON {on}{self._residual(fields)}",
            fields,
        )

    def _residual(self, fields: list[Field]) -> str:
        """A condition over both sides, beside the keys."""
        if self.rng.random() > 0.25:
            return ""
        left = [f for f in fields if f.sql.startswith("a.") and is_number(f.type)]
        right = [f for f in fields if f.sql.startswith("b.") and is_number(f.type)]
        if not left or not right:
            return ""
        self.operators.add("condition over both")
        return f" AND {self.rng.choice(left).sql} {self.rng.choice(('<', '<>', '>='))} {self.rng.choice(right).sql}"

    def _fields(self, relation: Relation, alias: str) -> list[Field]:
        return [Field(f"{alias}.{_quoted(name)}", type_) for name, type_ in relation.fields]

    # WHERE

    def _where(self, fields: list[Field]) -> str:
        if self.rng.random() < 0.45:
            return ""
        self.operators.add("filter")
        parts = [self._predicate(self.rng.choice(fields)) for _ in range(self.rng.choice((1, 1, 2)))]
        divisor = next((f for f in fields if is_integer(f.type)), None)
        if divisor and self.rng.random() < 0.2:
            self.operators.add("could raise")
            parts += [f"{divisor.sql} <> 0", f"100 / {divisor.sql} > -60"]
        return f" WHERE {' AND '.join(parts)}"

    def _predicate(self, field: Field) -> str:
        self.types.add(field.type)
        sql, type_ = field.sql, field.type
        choices = [f"{sql} IS NOT NULL", f"{sql} IS DISTINCT FROM {self._value(type_)}"]
        if type_ == "boolean":
            choices += [sql, f"NOT {sql}", f"{sql} IS NOT TRUE"]
        elif is_text(type_):
            choices += [f"{sql} LIKE '%a%'", f"upper({sql}) = 'A'", f"{sql} >= 'a'", f"length({sql}) < 3"]
        else:
            choices += [f"{sql} > {self._value(type_)}", f"({sql} <= {self._value(type_)} OR {sql} IS NULL)"]
            choices.append(f"{sql} BETWEEN {self._value(type_)} AND {self._value(type_)}")
            choices.append(f"{sql} IN ({self._value(type_)}, {self._value(type_)}, {self._value(type_)})")
        return self.rng.choice(choices)

    def _value(self, type_: str) -> str:
        while "NULL" in (value := literal(self.rng, type_)) or "SELECT" in value:
            pass
        return value

    # SELECT

    def _bag(self, fields: list[Field]) -> tuple[str, str, tuple[tuple[str, str], ...]]:
        self.operators.add("bag")
        chosen = self.rng.sample(fields, min(len(fields), self.rng.randint(1, 4)))
        outputs = [self._scalar(field, fields) if self.rng.random() < 0.4 else field for field in chosen]
        return self._listed(outputs), "", self._named(outputs)

    def _scalar(self, field: Field, fields: list[Field]) -> Field:
        """An expression that keeps within its type whatever the value."""
        self.types.add(field.type)
        self.operators.add("expression")
        sql, type_ = field.sql, field.type
        if type_ in ("smallint", "integer"):
            return self.rng.choice(
                (Field(f"{sql}::bigint * 3 - 1", "bigint"), self._division(sql), Field(f"{sql} % 3", type_))
            )
        if is_number(type_):
            both = [f for f in fields if is_number(f.type) and f.sql[0] != sql[0]]
            if both:
                self.operators.add("expression over both")
                return Field(f"{sql}::numeric * {self.rng.choice(both).sql}::numeric", "numeric")
            return self.rng.choice(
                (Field(f"{sql}::numeric * 2 + 1", "numeric"), Field(f"round({sql}::numeric, 1)", "numeric"))
            )
        if type_ == "boolean":
            return Field(f"CASE WHEN {sql} THEN 'yes' WHEN NOT {sql} THEN 'no' END", "text")
        if is_text(type_):
            return self.rng.choice((Field(f"upper({sql})", "text"), Field(f"coalesce({sql}, '?') || '!'", "text"),
                                    Field(f"length({sql})", "integer")))  # fmt: skip
        if type_ == "date":
            return Field(f"coalesce({sql}, '2000-01-01'::date)", "date")
        return self.rng.choice((Field(f"date_trunc('day', {sql})", type_), Field(f"{sql}::date", "date")))

    def _division(self, sql: str) -> Field:
        """What PostgreSQL may evaluate only where the CASE lets it."""
        self.operators.add("could raise")
        return Field(f"CASE WHEN {sql} <> 0 THEN 100 / {sql} END", "integer")

    # GROUP BY

    def _aggregate(self, fields: list[Field]) -> tuple[str, str, tuple[tuple[str, str], ...]]:
        keys = self._keys(fields)
        calls = [self._call(fields) for _ in range(self.rng.randint(1, 3))]
        if self.rng.random() < 0.2:
            calls.append(self._over_aggregates(fields))
        outputs = [*keys, *calls]
        self.rng.shuffle(outputs)
        tail = f" GROUP BY {', '.join(key.sql for key in keys)}" if keys else ""
        self.operators.add("group" if keys else "global")
        return self._listed(outputs), tail + self._having(fields), self._named(outputs)

    def _keys(self, fields: list[Field]) -> list[Field]:
        count = self.rng.choice((0, 1, 1, 1, 2))
        keys = []
        for field in self.rng.sample(fields, min(count, len(fields))):
            self.types.add(field.type)
            keys.append(self._scalar(field, fields) if self.rng.random() < 0.2 else field)
        return keys

    def _call(self, fields: list[Field]) -> Field:
        field = self.rng.choice(fields)
        argument = self._scalar(field, fields) if self.rng.random() < 0.2 else field
        self.types.add(field.type)
        functions = ["count", "count(*)", "count distinct"]
        if argument.type != "boolean":
            functions += ["min", "max"]
        if is_number(argument.type):
            functions += ["sum", "sum", "avg"]
        chosen = self.rng.choice(functions)
        self.operators.add(chosen)
        sql, type_ = _written(chosen, argument)
        if self.rng.random() < 0.2:
            self.operators.add("filter clause")
            sql += f" FILTER (WHERE {self._predicate(self.rng.choice(fields))})"
        return Field(sql, type_)

    def _over_aggregates(self, fields: list[Field]) -> Field:
        self.operators.add("expression over aggregates")
        numbers = [f for f in fields if is_number(f.type)]
        if not numbers:
            return Field("count(*) + 1", "bigint")
        sql = self.rng.choice(numbers).sql
        return Field(f"coalesce(sum({sql})::numeric, -1) + count({sql})", "numeric")

    def _having(self, fields: list[Field]) -> str:
        if self.rng.random() > 0.25:
            return ""
        self.operators.add("having")
        field = self.rng.choice(fields)
        return " HAVING " + self.rng.choice(
            ("count(*) > 1", f"count({field.sql}) < 3", f"count(DISTINCT {field.sql}) > 1")
        )

    def _listed(self, outputs: list[Field]) -> str:
        return ", ".join(
            f"{field.sql} AS {_quoted(name)}"
            for field, (name, _) in zip(outputs, self._named(outputs), strict=True)
        )

    def _named(self, outputs: list[Field]) -> tuple[tuple[str, str], ...]:
        return tuple((f"o{i}", field.type) for i, field in enumerate(outputs))


def _written(function: str, argument: Field) -> tuple[str, str]:
    match function:
        case "count(*)":
            return "count(*)", "bigint"
        case "count":
            return f"count({argument.sql})", "bigint"
        case "count distinct":
            return f"count(DISTINCT {argument.sql})", "bigint"
        case "min" | "max":
            # The argument's modifier is lost, as in PostgreSQL.
            type_ = {"varchar(12)": "text"}.get(argument.type, argument.type)
            return f"{function}({argument.sql})", "numeric" if type_.startswith("numeric") else type_
        case _:
            whole = argument.type in ("smallint", "integer") and function == "sum"
            return f"{function}({argument.sql})", "bigint" if whole else "numeric"


def _quoted(name: str) -> str:
    return f'"{name}"'


def keys_of(outputs: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Columns of a stream table that a join above it may use."""
    return tuple(name for name, type_ in outputs if not is_time(type_) and type_ != "boolean")
