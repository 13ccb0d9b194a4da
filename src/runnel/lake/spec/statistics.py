"""Statistics as DuckLake writes them: text bounds that must cover every row, or not be there at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from runnel.lake.spec.types import DataType

_COMMON_ERA = re.compile(r"^\d{4}-\d\d-\d\d( |$)")


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """One column of one file; no bounds where every value is NULL or where none are known."""

    size_bytes: int
    value_count: int
    null_count: int
    min_value: str | None = None
    max_value: str | None = None
    contains_nan: bool | None = None


@dataclass(frozen=True, slots=True)
class TableColumnStatistics:
    """One column over all rows that the table ever held."""

    contains_null: bool
    contains_nan: bool | None
    min_value: str | None
    max_value: str | None


def merge_statistics(
    data_type: DataType, known: TableColumnStatistics | None, added: ColumnStatistics
) -> TableColumnStatistics | None:
    """What covers both, or None where nothing certain can be said.

    DuckDB takes missing bounds for "no value yet" and narrows them to the next insert, after which it
    drops rows. So bounds are only absent as long as all values are NULL; unknown bounds cost the whole
    entry, which DuckDB then never makes again.
    """
    contains_null = added.null_count > 0 or (known is not None and known.contains_null)
    contains_nan = _either(known.contains_nan if known else None, added.contains_nan)
    low, high = (known.min_value, known.max_value) if known else (None, None)
    if added.value_count > 0:
        if added.min_value is None or added.max_value is None:
            return None
        key = _ORDER.get(data_type.text, Decimal if data_type.decimal else None)
        if key is None:
            return None
        try:
            low = added.min_value if low is None else min(low, added.min_value, key=key)
            high = added.max_value if high is None else max(high, added.max_value, key=key)
        except ValueError:  # a form that does not sort as text, for example a year before 1
            return None
    return TableColumnStatistics(contains_null, contains_nan, low, high)


def _either(left: bool | None, right: bool | None) -> bool | None:
    if left is None and right is None:
        return None
    return bool(left) or bool(right)


def _boolean(text: str) -> bool:
    return text in {"1", "true"}


def _moment(text: str) -> str:
    """Years of four digits sort as text; any other form is left to the caller as unknown."""
    if not _COMMON_ERA.match(text):
        raise ValueError(text)
    return text


_ORDER: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), int),
    "float32": float,
    "float64": float,
    "boolean": _boolean,
    "varchar": lambda text: text.encode(),
    "json": lambda text: text.encode(),
    "uuid": str.lower,
    "time": str,
    "date": _moment,
    "timestamp": _moment,
    "timestamp_s": _moment,
    "timestamp_ms": _moment,
    "timestamp_ns": _moment,
    "timestamptz": _moment,
}
