"""Puts the queries of upstream stream tables in place of their names, so that a whole family is one query."""

from __future__ import annotations

from collections.abc import Mapping

import postgast
from google.protobuf.message import Message
from postgast import pg_query_pb2 as pg

from runnel.frontend import tree


def expand(definition: str, inner: Mapping[tuple[str, str], str]) -> str:
    """The query text with every relation in `inner` (by schema and name) replaced by its own query."""
    parsed = postgast.parse(definition)
    for statement in parsed.stmts:
        _expand_in(statement.stmt, inner)
    printed: str = postgast.deparse(parsed)
    return printed


def _expand_in(message: Message, inner: Mapping[tuple[str, str], str]) -> None:
    if isinstance(message, pg.Node) and tree.kind(message) == "range_var":
        place = (message.range_var.schemaname, message.range_var.relname)
        if place in inner:
            message.CopyFrom(_subselect(message.range_var, inner[place]))
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for item in value if field.is_repeated else (value,):
                _expand_in(item, inner)


def _subselect(named: pg.RangeVar, query: str) -> pg.Node:
    node = pg.Node()
    node.range_subselect.subquery.select_stmt.CopyFrom(tree.parse_select(query))
    node.range_subselect.alias.aliasname = named.alias.aliasname or named.relname
    node.range_subselect.alias.colnames.extend(named.alias.colnames)
    return node
