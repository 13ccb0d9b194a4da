"""PostgreSQL's own parse tree: reading, printing, walking and rewriting it; nobody else sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import postgast
from google.protobuf.message import Message
from postgast import pg_query_pb2 as pg
from postgast.pg_query_pb2 import Node, SelectStmt

from runnel.errors import InternalError, Unsupported


def parse_select(sql: str) -> SelectStmt:
    """The one SELECT that a canonical view text is."""
    statements = postgast.parse(sql).stmts
    if len(statements) != 1 or statements[0].stmt.WhichOneof("node") != "select_stmt":
        raise InternalError("a view's text is not one SELECT", detail=sql)
    return statements[0].stmt.select_stmt


def kind(node: Node) -> str:
    return node.WhichOneof("node") or ""


def print_expression(node: Node) -> str:
    """The SQL of one scalar expression."""
    result = pg.ParseResult(version=180004)
    select = result.stmts.add().stmt.select_stmt
    select.target_list.add().res_target.val.CopyFrom(node)
    select.limit_option = pg.LIMIT_OPTION_DEFAULT
    select.op = pg.SETOP_NONE
    printed: str = postgast.deparse(result)
    return printed.removeprefix("SELECT ")


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below a node, through messages that are no nodes themselves."""
    yield from _nodes_in(getattr(node, kind(node))) if kind(node) else ()


def _nodes_in(message: Message) -> Iterator[Node]:
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for item in value if field.is_repeated else (value,):
            if isinstance(item, Node):
                yield item
            else:
                yield from _nodes_in(item)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def rewrite(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """A copy in which `change` has replaced nodes; nothing below a replaced node is visited."""
    copy = Node()
    copy.CopyFrom(node)
    _rewrite(copy, change)
    return copy


def _rewrite(node: Node, change: Callable[[Node], Node | None]) -> None:
    replacement = change(node)
    if replacement is not None:
        node.CopyFrom(replacement)
        return
    for child in list(children(node)):
        _rewrite(child, change)


def column_ref(alias: str, name: str) -> Node:
    node = Node()
    for part in (alias, name):
        node.column_ref.fields.add().string.sval = part
    return node


def column_path(node: Node) -> tuple[str, ...]:
    """The names of a column reference; a star is refused (canonical text has none but whole rows)."""
    fields = node.column_ref.fields
    if any(kind(field) != "string" for field in fields):
        raise Unsupported("a whole-row reference")
    return tuple(field.string.sval for field in fields)


def function_name(node: Node) -> tuple[str, str]:
    """Schema (empty where the text has none) and name of a function call."""
    parts = [part.string.sval for part in node.func_call.funcname]
    return (parts[-2] if len(parts) > 1 else "", parts[-1])


def conjuncts(node: Node) -> Iterator[Node]:
    """The parts of a condition that AND connects at its top."""
    if kind(node) == "bool_expr" and node.bool_expr.boolop == pg.AND_EXPR:
        for part in node.bool_expr.args:
            yield from conjuncts(part)
    else:
        yield node
