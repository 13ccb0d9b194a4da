"""Scalar expressions: which may be evaluated away from their query, and what they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postgast import pg_query_pb2 as pg
from postgast.pg_query_pb2 import Node

from runnel.algebra import SqlType
from runnel.errors import Unsupported
from runnel.frontend import tree
from runnel.frontend.functions import SAFE_CASTS, SAFE_FUNCTIONS, SAFE_OPERATORS, SETTINGS_ONLY
from runnel.frontend.view import Function

# Nodes of which PostgreSQL's answer depends on nothing but the row.
_SCALAR = frozenset(
    {
        "column_ref",
        "a_const",
        "a_expr",
        "bool_expr",
        "null_test",
        "boolean_test",
        "func_call",
        "type_cast",
        "case_expr",
        "case_when",
        "coalesce_expr",
        "min_max_expr",
        "a_array_expr",
        "a_indirection",
        "a_indices",
        "list",
        "string",
        "integer",
        "type_name",
    }
)
_REFUSED = {
    "sub_link": ("a subquery in an expression", "SELECT"),
    "collate_clause": ("a COLLATE clause", "COLLATE"),
    "grouping_func": ("GROUPING()", "GROUPING"),
    "row_expr": ("a row constructor", "ROW"),
}


def check_functions(functions: Sequence[Function]) -> None:
    """Refuses what the clock, the session or a set-returning call brings in."""
    for function in functions:
        if function.volatility == "s" and function.signature not in SETTINGS_ONLY:
            raise Unsupported(f"the function {function.name}(), which is only STABLE,", token=function.name)
        if function.returns_set:
            raise Unsupported(f"the set-returning function {function.name}()", token=function.name)
        if function.kind == "w":
            raise Unsupported(f"the window function {function.name}()", token="OVER")


def check_scalar(node: Node) -> None:
    """Refuses by name every kind of node that is not a plain expression over one row."""
    for part in tree.walk(node):
        name = tree.kind(part)
        if name == "sqlvalue_function":
            raise Unsupported("the current date, time or role", token=_clock_token(part))
        if name not in _SCALAR:
            construct, token = _REFUSED.get(name, (f"the construct {name.replace('_', ' ')}", None))
            raise Unsupported(construct, token=token)
        if name == "func_call" and part.func_call.HasField("over"):
            raise Unsupported(f"the window function {tree.function_name(part)[1]}()", token="OVER")


def _clock_token(node: Node) -> str:
    name: str = pg.SQLValueFunctionOp.Name(node.sqlvalue_function.op)
    return name.removeprefix("SVFOP_").removesuffix("_N")


def casts(node: Node) -> list[Node]:
    """The casts below a node whose argument is not a literal."""
    found = (part for part in tree.walk(node) if tree.kind(part) == "type_cast")
    return [part for part in found if tree.kind(part.type_cast.arg) != "a_const"]


def columns(node: Node) -> frozenset[tuple[str, str]]:
    """(alias, column) of every column reference, once references are qualified."""
    paths = (tree.column_path(part) for part in tree.walk(node) if tree.kind(part) == "column_ref")
    return frozenset((path[0], path[1]) for path in paths)


def may_raise(node: Node, types: Mapping[str, SqlType]) -> bool:
    """Whether evaluating the expression on a row that the query itself never sees could fail.

    `types` gives the type of each cast's argument and of each cast by its printed SQL.
    """
    return any(_raises(part, types) for part in tree.walk(node))


def _raises(node: Node, types: Mapping[str, SqlType]) -> bool:
    match tree.kind(node):
        case "func_call":
            schema, name = tree.function_name(node)
            return schema not in ("", "pg_catalog") or name not in SAFE_FUNCTIONS
        case "a_expr":
            return _operator_raises(node)
        case "type_cast":
            return _cast_raises(node, types)
        case "a_indirection":
            return False
        case _:
            return False


def _operator_raises(node: Node) -> bool:
    names = [part.string.sval for part in node.a_expr.name]
    match node.a_expr.kind:
        case pg.AEXPR_OP | pg.AEXPR_OP_ANY | pg.AEXPR_OP_ALL | pg.AEXPR_IN:
            if names == ["~~"] or names == ["!~~"]:
                return not _plain_pattern(node.a_expr.rexpr)
            return len(names) != 1 or names[0] not in SAFE_OPERATORS
        case pg.AEXPR_DISTINCT | pg.AEXPR_NOT_DISTINCT | pg.AEXPR_NULLIF:
            return False
        case pg.AEXPR_LIKE:
            return not _plain_pattern(node.a_expr.rexpr)
        case _:
            return True


def _plain_pattern(node: Node) -> bool:
    """A literal LIKE pattern that does not end in its escape."""
    inner = node.type_cast.arg if tree.kind(node) == "type_cast" else node
    return tree.kind(inner) == "a_const" and not inner.a_const.sval.sval.endswith("\\")


def _cast_raises(node: Node, types: Mapping[str, SqlType]) -> bool:
    argument = node.type_cast.arg
    if tree.kind(argument) == "a_const":
        return False
    source, target = types[tree.print_expression(argument)], types[tree.print_expression(node)]
    return not (target.text == "text" or source == target or (source.base, target.text) in SAFE_CASTS)


def check_casts(node: Node, types: Mapping[str, SqlType]) -> None:
    """A cast from text to a date or time may read the clock ('today') however immutable the rest is."""
    for cast in casts(node):
        source = types[tree.print_expression(cast.type_cast.arg)]
        target = types[tree.print_expression(cast)]
        if target.is_datetime and not (source.is_datetime):
            raise Unsupported(f"a cast from {source.text} to {target.text}", token=target.text.split()[0])
