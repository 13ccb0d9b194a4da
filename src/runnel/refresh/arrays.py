"""Arrow columns as PostgreSQL's array literals: a driver that adapts value by value takes longer than the apply."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def array_literal(column: pa.ChunkedArray) -> str:
    """The text of an array of this column's values, integers or strings."""
    texts = column.cast(pa.string()) if pa.types.is_integer(column.type) else _quoted(column)
    return "{" + ",".join(texts.fill_null("NULL").to_pylist()) + "}"


def _quoted(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Always quoted: an empty text, a NULL in letters and every special character stand for themselves."""
    escaped = pc.replace_substring(pc.replace_substring(column, "\\", "\\\\"), '"', '\\"')
    return pc.binary_join_element_wise('"', escaped, '"', "")
