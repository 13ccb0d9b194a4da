"""Canonical view text → algebra: one SELECT over one or two sources with at most one aggregate above them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from postgast import pg_query_pb2 as pg
from postgast.pg_query_pb2 import Node, SelectStmt

from runnel.algebra import Aggregate, AggregateCall, Bag, Expr, Join, Query, Source, SqlType
from runnel.errors import Unsupported
from runnel.frontend import expressions, tree
from runnel.frontend.functions import AGGREGATES
from runnel.frontend.sources import From, qualify, read_from
from runnel.frontend.view import Describe, View


def read_query(view: View, describe: Describe) -> Query:
    """The algebra of a stream table's query, or Unsupported with the construct."""
    expressions.check_functions(view.functions)
    select = tree.parse_select(view.definition)
    _check_clauses(select)
    return _Reader(view, describe, select).query()


def _check_clauses(select: SelectStmt) -> None:
    refused = (
        (select.op != pg.SETOP_NONE, "a set operation", _set_word(select)),
        (select.HasField("with_clause"), "a WITH clause", "WITH"),
        (bool(select.distinct_clause), "DISTINCT", "DISTINCT"),
        (select.HasField("limit_count"), "LIMIT", "LIMIT"),
        (select.HasField("limit_offset"), "OFFSET", "OFFSET"),
        (bool(select.window_clause), "a WINDOW clause", "WINDOW"),
        (bool(select.values_lists), "VALUES", "VALUES"),
        (bool(select.locking_clause), "a locking clause", "FOR"),
        (select.group_distinct, "GROUP BY DISTINCT", "GROUP"),
        (any(tree.kind(key) == "grouping_set" for key in select.group_clause), "a grouping set", "GROUP"),
    )
    for present, construct, token in refused:
        if present:
            raise Unsupported(construct, token=token)


def _set_word(select: SelectStmt) -> str:
    name: str = pg.SetOperation.Name(select.op)
    return name.removeprefix("SETOP_")


@dataclass(slots=True)
class _Reader:
    """One reading: the scope and the types that PostgreSQL gave for the expressions met so far."""

    view: View
    describe: Describe
    select: SelectStmt

    def query(self) -> Query:
        scope = read_from(self.select, self.view)
        self._check_collations(scope)
        where = [qualify(self.select.where_clause, scope)] if self.select.HasField("where_clause") else []
        conditions = [part for node in (*scope.conditions, *where) for part in tree.conjuncts(node)]
        for condition in conditions:
            expressions.check_scalar(condition)
        pairs, rest = self._split(conditions, scope)
        root = self._aggregate(scope) if self._is_aggregate() else self._bag(scope)
        join = Join(pairs) if len(scope.sources) > 1 else None
        return Query(scope.sources, join, self.typed(rest, scope), root, self.view.outputs)

    def _check_collations(self, scope: From) -> None:
        for source in scope.sources:
            for column in source.columns:
                used = f'"{column.name}"' in self.view.definition or column.name in self.view.definition
                if (source.relid, column.name) in self.view.collated and used:
                    raise Unsupported(f"the collation of column {column.name}", token=column.name)

    def _split(
        self, conditions: Sequence[Node], scope: From
    ) -> tuple[tuple[tuple[Expr, Expr], ...], list[Node]]:
        """Equalities between the two sources, and all other conditions."""
        if len(scope.sources) < 2:
            return (), list(conditions)
        pairs, rest = [], []
        for condition in conditions:
            pair = self._pair(condition, scope)
            if pair:
                pairs.append(pair)
            else:
                rest.append(condition)
        if not pairs:
            raise Unsupported("a join without an equality of one plain type", token="JOIN")
        return tuple(pairs), rest

    def _pair(self, node: Node, scope: From) -> tuple[Expr, Expr] | None:
        if tree.kind(node) != "a_expr" or node.a_expr.kind != pg.AEXPR_OP:
            return None
        if [part.string.sval for part in node.a_expr.name] != ["="]:
            return None
        sides = self.typed([node.a_expr.lexpr, node.a_expr.rexpr], scope)
        by_alias = {side.aliases: side for side in sides}
        ordered = [by_alias.get(frozenset({source.alias})) for source in scope.sources]
        left, right = ordered[0], ordered[1]
        if left is None or right is None or left.may_raise or right.may_raise:
            return None
        # A lake's times are written by DuckDB, whose text is not always PostgreSQL's.
        foreign = left.type.is_datetime and any(source.kind == "lake" for source in scope.sources)
        return (left, right) if _comparable(left.type, right.type) and not foreign else None

    def _is_aggregate(self) -> bool:
        tops = [target.res_target.val for target in self.select.target_list]
        return (
            bool(self.select.group_clause)
            or self.select.HasField("having_clause")
            or any(self.is_call(part) for top in tops for part in tree.walk(top))
        )

    def is_call(self, node: Node) -> bool:
        """Whether the node calls an aggregate function (windows are refused elsewhere)."""
        if tree.kind(node) != "func_call" or node.func_call.HasField("over"):
            return False
        name = tree.function_name(node)[1]
        return bool(
            node.func_call.agg_star
            or any(function.name == name and function.kind == "a" for function in self.view.functions)
        )

    def _bag(self, scope: From) -> Bag:
        targets = [qualify(target.res_target.val, scope) for target in self.select.target_list]
        for target in targets:
            expressions.check_scalar(target)
        outputs = self.typed(targets, scope)
        for output in outputs:
            _require_plain(output.type, "a column of type")
        return Bag(outputs)

    def _aggregate(self, scope: From) -> Aggregate:
        return _AggregateReader(self, scope).aggregate()

    def typed(self, nodes: Sequence[Node], scope: From) -> tuple[Expr, ...]:
        """Expressions with types as PostgreSQL resolves them, checked for what may move."""
        if not nodes:
            return ()
        casts = [part for node in nodes for part in expressions.casts(node)]
        asked = [tree.print_expression(node) for node in nodes]
        asked += [tree.print_expression(part) for cast in casts for part in (cast, cast.type_cast.arg)]
        types = dict(zip(asked, self.describe(_describing(asked, scope.sources)), strict=True))
        for node in nodes:
            expressions.check_casts(node, types)
        return tuple(
            Expr(text, types[text], expressions.columns(node), expressions.may_raise(node, types))
            for node, text in zip(nodes, asked, strict=False)
        )


class _AggregateReader:
    """Replaces group keys and aggregate calls in outputs and HAVING by g.k<n> and g.f<n>."""

    def __init__(self, reader: _Reader, scope: From) -> None:
        self._reader = reader
        self._scope = scope
        self._keys = [qualify(key, scope) for key in reader.select.group_clause]
        self._calls: list[Node] = []

    def aggregate(self) -> Aggregate:
        select = self._reader.select
        targets = [qualify(target.res_target.val, self._scope) for target in select.target_list]
        for key in self._keys:
            _check_key(key)
        outputs = [self._final(target) for target in targets]
        having = self._final(qualify(select.having_clause, self._scope)) if self._has_having() else None
        keys = self._reader.typed(self._keys, self._scope)
        for key in keys:
            _require_plain(key.type, "a group key of type")
        return Aggregate(
            keys,
            tuple(self._call(node) for node in self._calls),
            tuple(tree.print_expression(node) for node in outputs),
            tree.print_expression(having) if having is not None else None,
            tuple(_key_shown(node) for node in outputs),
        )

    def _has_having(self) -> bool:
        return bool(self._reader.select.HasField("having_clause"))

    def _final(self, node: Node) -> Node:
        final = tree.rewrite(node, self._replace)
        expressions.check_scalar(final)
        return final

    def _replace(self, node: Node) -> Node | None:
        if not tree.kind(node):
            return None
        if self._reader.is_call(node):
            return tree.column_ref("g", f"f{_position(self._calls, node) + 1}")
        texts = [tree.print_expression(key) for key in self._keys]
        if _printable(node) and tree.print_expression(node) in texts:
            return tree.column_ref("g", f"k{texts.index(tree.print_expression(node)) + 1}")
        if tree.kind(node) == "column_ref":
            # A column that the group's primary key determines: it is as good as a key.
            return tree.column_ref("g", f"k{_position(self._keys, node) + 1}")
        return None

    def _call(self, node: Node) -> AggregateCall:
        call = node.func_call
        schema, name = tree.function_name(node)
        if schema not in ("", "pg_catalog") or name not in AGGREGATES:
            raise Unsupported(f"the aggregate {name}()", token=name)
        if call.agg_order or call.agg_within_group or call.func_variadic:
            raise Unsupported(f"an ordered {name}()", token=name)
        argument = self._argument(node)
        function = cast(Literal["count", "sum", "avg", "min", "max"], name)
        if argument is not None:
            _check_argument(function, argument.type, call.agg_distinct)
        return AggregateCall(function, argument, call.agg_distinct)

    def _argument(self, node: Node) -> Expr | None:
        """The argument with the FILTER inside it; for count(*) with a FILTER, a literal inside it."""
        call = node.func_call
        if len(call.args) > 1:
            raise Unsupported("an aggregate of several arguments", token=tree.function_name(node)[1])
        for part in (*call.args, *([call.agg_filter] if call.HasField("agg_filter") else [])):
            expressions.check_scalar(part)
        if not call.HasField("agg_filter"):
            return self._reader.typed(list(call.args), self._scope)[0] if call.args else None
        case = Node()
        when = case.case_expr.args.add().case_when
        when.expr.CopyFrom(call.agg_filter)
        when.result.CopyFrom(call.args[0] if call.args else _one())
        return self._reader.typed([case], self._scope)[0]


def _one() -> Node:
    node = Node()
    node.a_const.ival.ival = 1
    return node


def _printable(node: Node) -> bool:
    return tree.kind(node) not in ("string", "list", "type_name", "case_when", "a_indices", "integer")


def _position(known: list[Node], node: Node) -> int:
    """The position of an equal node, added where there is none."""
    texts = [tree.print_expression(item) for item in known]
    text = tree.print_expression(node)
    if text in texts:
        return texts.index(text)
    kept = Node()
    kept.CopyFrom(node)
    known.append(kept)
    return len(known) - 1


def _check_key(key: Node) -> None:
    if tree.kind(key) == "a_const":
        raise Unsupported("a constant as a group key", token="GROUP")
    expressions.check_scalar(key)


def _check_argument(function: str, argument: SqlType, distinct: bool) -> None:
    if function in ("sum", "avg") and not (argument.is_integer or argument.is_numeric):
        raise Unsupported(f"{function}({argument.text})", token=function)
    if distinct and function in ("sum", "avg"):
        raise Unsupported(f"{function}(DISTINCT)", token=function)
    if (function in ("min", "max") or distinct) and not argument.is_plain:
        raise Unsupported(f"{function}({argument.text})", token=function)


def _require_plain(type_: SqlType, what: str) -> None:
    if not type_.is_plain:
        raise Unsupported(f"{what} {type_.text}")


def _key_shown(output: Node) -> int | None:
    """The number of the key that an output shows as it is."""
    if tree.kind(output) != "column_ref":
        return None
    name = tree.column_path(output)[1]
    return int(name[1:]) if name.startswith("k") else None


def _comparable(left: SqlType, right: SqlType) -> bool:
    if not (left.is_plain and right.is_plain):
        return False
    return (left.is_integer and right.is_integer) or left.base == right.base


def _describing(asked: Iterable[str], sources: Sequence[Source]) -> str:
    return f"SELECT {', '.join(asked)} FROM {', '.join(f'{s.name} AS {s.alias}' for s in sources)} LIMIT 0"
