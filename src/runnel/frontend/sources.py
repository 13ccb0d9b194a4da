"""The FROM clause: at most two sources, joined by inner joins, and column names resolved against them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from postgast import pg_query_pb2 as pg
from postgast.pg_query_pb2 import Node, SelectStmt

from runnel.algebra import Source
from runnel.errors import InternalError, Unsupported
from runnel.frontend import tree
from runnel.frontend.view import View

# Aliases that the generated SQL uses itself.
_OWN = frozenset({"g", "s", "staged"})
_JOIN_WORDS = {pg.JOIN_LEFT: "LEFT", pg.JOIN_RIGHT: "RIGHT", pg.JOIN_FULL: "FULL"}

_SUBQUERY_WORDS = {pg.EXISTS_SUBLINK: "EXISTS", pg.ANY_SUBLINK: "IN"}


@dataclass(frozen=True, slots=True)
class From:
    """The sources under the aliases of the generated SQL, the join conditions, and the names in the text."""

    sources: tuple[Source, ...]
    conditions: tuple[Node, ...]
    names: dict[str, Source]
    merged: frozenset[str]


def read_from(select: SelectStmt, view: View) -> From:
    found = From((), (), {}, frozenset())
    for item in select.from_clause:
        found = _add(found, item, view)
    if not found.sources:
        raise Unsupported("a query without a source")
    if len(found.sources) > 2:
        raise Unsupported(f"a join of {len(found.sources)} sources", token="JOIN")
    return replace(found, conditions=tuple(qualify(part, found) for part in found.conditions))


def _add(found: From, item: Node, view: View) -> From:
    match tree.kind(item):
        case "range_var":
            return _add_source(found, item.range_var, view)
        case "join_expr":
            return _add_join(found, item.join_expr, view)
        case "range_subselect":
            raise Unsupported("a subquery in FROM", token="FROM")
        case other:
            raise Unsupported(f"{other.replace('_', ' ')} in FROM", token="FROM")


def _add_source(found: From, item: pg.RangeVar, view: View) -> From:
    source = view.sources.get((item.schemaname, item.relname))
    if source is None:
        raise InternalError(f"the view reads {item.schemaname}.{item.relname}, which is not recorded")
    if not item.inh:
        raise Unsupported("FROM ONLY", token="ONLY")
    if item.alias.colnames:
        raise Unsupported("column aliases in FROM", token="FROM")
    name = item.alias.aliasname or item.relname
    own = replace(source, alias=_alias(name, len(found.sources)))
    return replace(found, sources=(*found.sources, own), names={**found.names, name: own})


def _alias(name: str, position: int) -> str:
    simple = re.fullmatch(r"[a-z][a-z0-9_]*", name) and name not in _OWN and not re.fullmatch(r"t\d", name)
    return f"{name}" if simple else f"t{position}"


def _add_join(found: From, join: pg.JoinExpr, view: View) -> From:
    if join.jointype != pg.JOIN_INNER:
        word = _JOIN_WORDS.get(join.jointype, "JOIN")
        raise Unsupported(f"a {word} JOIN", token=word)
    if join.HasField("alias"):
        raise Unsupported("an alias for a join", token="JOIN")
    left = _add(found, join.larg, view)
    both = _add(left, join.rarg, view)
    if join.using_clause:
        return _add_using(both, join, left)
    return replace(both, conditions=(*both.conditions, join.quals)) if join.HasField("quals") else both


def _add_using(both: From, join: pg.JoinExpr, left: From) -> From:
    """USING (x) says left.x = right.x; x alone then means the left one, as in PostgreSQL for inner joins."""
    names = [part.string.sval for part in join.using_clause]
    left_names, right_names = list(left.names), [name for name in both.names if name not in left.names]
    if len(left_names) != 1 or len(right_names) != 1:
        raise Unsupported("a join of 3 sources", token="JOIN")
    equalities = tuple(_equality(left_names[0], right_names[0], name) for name in names)
    return replace(both, conditions=(*both.conditions, *equalities), merged=both.merged | set(names))


def _equality(left: str, right: str, column: str) -> Node:
    node = Node()
    node.a_expr.kind = pg.AEXPR_OP
    node.a_expr.name.add().string.sval = "="
    node.a_expr.lexpr.CopyFrom(tree.column_ref(left, column))
    node.a_expr.rexpr.CopyFrom(tree.column_ref(right, column))
    return node


def qualify(node: Node, scope: From) -> Node:
    """The expression with every column written as alias.column of the generated SQL."""

    def change(part: Node) -> Node | None:
        if tree.kind(part) == "sub_link":
            # its names are its own
            token = _SUBQUERY_WORDS.get(part.sub_link.sub_link_type)
            raise Unsupported("a subquery in an expression", token=token)
        return _resolve(tree.column_path(part), scope) if tree.kind(part) == "column_ref" else None

    return tree.rewrite(node, change)


def _resolve(path: tuple[str, ...], scope: From) -> Node:
    if len(path) == 1:
        return _resolve_bare(path[0], scope)
    source = scope.names.get(path[-2])
    if source is None:
        raise Unsupported(f"the reference {'.'.join(path)}", token=path[-1])
    return _reference(source, path[-1])


def _resolve_bare(name: str, scope: From) -> Node:
    owners = [source for source in scope.sources if source.column(name)]
    if not owners or (len(owners) > 1 and name not in scope.merged):
        raise Unsupported(f"the reference {name}", token=name)
    return _reference(owners[0], name)


def _reference(source: Source, name: str) -> Node:
    if source.column(name) is None:
        raise Unsupported(f"the system column {name}", token=name)
    return tree.column_ref(source.alias, name)
