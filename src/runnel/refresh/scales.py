"""The scale of sums, which PostgreSQL's own type does not tell: numeric(10,2) sums to numeric, and stays at 2."""

from __future__ import annotations

import re

from runnel.algebra import Aggregate
from runnel.catalog.client import StreamTable
from runnel.catalog.connection import Connection
from runnel.errors import Unsupported
from runnel.refresh.compiled import query_of

_KEEPS_SCALE = frozenset({"sum", "min", "max"})
# An output that is an aggregate as it is, or zero where there was nothing to sum.
_PLAIN = re.compile(r"g\.f(\d+)|COALESCE\(g\.f(\d+), 0::numeric\)")


def decimal_scales(conn: Connection, table: StreamTable) -> dict[str, int]:
    """The columns of a stream table whose values have a known scale though their type has none."""
    try:
        query = query_of(conn, table)
    except Unsupported:
        return {}
    if not isinstance(query.root, Aggregate):
        return {}
    found: dict[str, int] = {}
    for column, sql in zip(query.outputs, query.root.outputs, strict=True):
        match = _PLAIN.fullmatch(sql)
        if match is None:
            continue
        call = query.root.calls[int(match[1] or match[2]) - 1]
        scale = call.argument.type.decimal_scale if call.argument else None
        if call.function in _KEEPS_SCALE and scale is not None:
            found[column.name] = scale
    return found
