"""The runnable view of a sink: the stream table's present rows, in plain DuckDB SQL.

An append sink has a log, which keeps every delta row for ever, and a base, which holds the rows as they were
after one refresh. The view is the base and what was logged after it, so that reading it costs what the result
and a short tail cost, however long the log is; replacing the base changes nothing of what the view shows, and
needs no change of the view. One row of the base has the weight zero: it says which refresh the base is of.
"""

from __future__ import annotations

from collections.abc import Sequence

from runnel.lake.spec import TableName, quote_name
from runnel.lake.view import table_reference
from runnel.subscribers.columns import SinkColumn

CHANGE, WEIGHT, REFRESH, REFRESH_ID, REFRESHED_AT = (
    "_change",
    "_weight",
    "_refresh",
    "_refresh_id",
    "_refreshed_at",
)
_FLOATS = ("FLOAT", "DOUBLE")


def replace_view(columns: Sequence[SinkColumn], data: TableName) -> str:
    names = ", ".join(quote_name(column.name) for column in columns)
    return f"SELECT {names} FROM {table_reference(data)}"


def append_view(columns: Sequence[SinkColumn], key: Sequence[str], log: TableName, base: TableName) -> str:
    """The rows that live: the last event of each key where there is one, else the sum of the weights."""
    events = _events(columns, log, base)
    rows = _last_of_each(columns, key) if key else _summed(columns)
    return f"{events}\n{rows}"


def _events(columns: Sequence[SinkColumn], log: TableName, base: TableName) -> str:
    """The base is read once; the number in it is a filter which lets the scan of the log skip older files."""
    fields = ", ".join(f"{quote_name(column.name)} AS c{i}" for i, column in enumerate(columns, 1))
    shape = f"SELECT {fields}, {WEIGHT} AS w, {REFRESH} AS n"
    return (
        f"WITH base AS MATERIALIZED ({shape} FROM {table_reference(base)}),\n"
        "events AS (\n"
        "  FROM base WHERE w <> 0\n"
        "  UNION ALL\n"
        f"  {shape} FROM {table_reference(log)} WHERE {REFRESH} > (SELECT coalesce(max(n), 0) FROM base)\n"
        ")"
    )


def _last_of_each(columns: Sequence[SinkColumn], key: Sequence[str]) -> str:
    """Of one refresh's events for a key the insert counts: an update is a delete and an insert.

    A struct is never NULL, as an argument of arg_max has to be; GROUP BY takes NULLs for equal. Floats are packed
    as text, which brings them back exactly: within a struct arg_max makes 0.0 of -0.0.
    """
    positions = {column.name: i for i, column in enumerate(columns, 1)}
    group = ", ".join(f"c{positions[name]}" for name in key)
    fields, shown = [], []
    for i, column in enumerate(columns, 1):
        type_ = column.lake.duckdb
        fields.append(f"c{i} := c{i}{'::VARCHAR' if type_ in _FLOATS else ''}")
        shown.append(f"last.c{i}{f'::{type_}' if type_ in _FLOATS else ''} AS {quote_name(column.name)}")
    packed, names = ", ".join([*fields, "w := w"]), ", ".join(shown)
    return (
        f"SELECT {names}\n"
        f"FROM (SELECT arg_max(struct_pack({packed}), 2 * n + (w > 0)::BIGINT) AS last"
        f" FROM events GROUP BY {group})\n"
        "WHERE last.w > 0"
    )


def _summed(columns: Sequence[SinkColumn]) -> str:
    """Rows are equal by their text where DuckDB's `=` is coarser: 0.0 and -0.0."""
    floats = [f"c{i}::VARCHAR" for i, column in enumerate(columns, 1) if column.lake.duckdb in _FLOATS]
    names = [f"c{i}" for i in range(1, len(columns) + 1)]
    picked = ", ".join(
        f"{f'any_value(c{i})' if column.lake.duckdb in _FLOATS else f'c{i}'} AS c{i}"
        for i, column in enumerate(columns, 1)
    )
    group = [name for name, column in zip(names, columns, strict=True) if column.lake.duckdb not in _FLOATS]
    shown = ", ".join(f"c{i} AS {quote_name(column.name)}" for i, column in enumerate(columns, 1))
    return (
        f"SELECT {shown}\n"
        f"FROM (SELECT {picked}, unnest(range(sum(w)::BIGINT)) AS copy FROM events"
        f" GROUP BY {', '.join([*group, *floats])} HAVING sum(w) > 0)"
    )
