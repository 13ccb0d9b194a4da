"""PostgreSQL types as the compiler sees them: by their text, and by what may be done with them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_INTEGERS = frozenset({"smallint", "integer", "bigint"})
_DATETIMES = frozenset({"date", "timestamp without time zone", "timestamp with time zone"})
_TEXTS = frozenset({"text", "character varying"})
_PLAIN = _INTEGERS | _DATETIMES | _TEXTS | {"numeric", "boolean", "uuid"}

# A weight has up to ten digits, and a product of weight and value must stay within 38.
_MAX_SUMMED_PRECISION = 27


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type as format_type prints it, such as `numeric(10,2)`."""

    text: str

    @property
    def base(self) -> str:
        return re.sub(r"\([^)]*\)", "", self.text).strip()

    @property
    def modifiers(self) -> tuple[int, ...]:
        found = re.search(r"\(([^)]*)\)", self.text)
        return tuple(int(part) for part in found.group(1).split(",")) if found else ()

    @property
    def is_integer(self) -> bool:
        return self.base in _INTEGERS

    @property
    def is_numeric(self) -> bool:
        return self.base == "numeric"

    @property
    def is_datetime(self) -> bool:
        return self.base in _DATETIMES

    @property
    def is_plain(self) -> bool:
        """Its text is exact, and equal values have one canonical text."""
        return self.base in _PLAIN

    @property
    def is_wide(self) -> bool:
        """A value may be too wide for a btree entry."""
        return self.base in _TEXTS or self.text == "numeric"

    @property
    def decimal_scale(self) -> int | None:
        """The declared scale of a numeric whose weighted sums are exact in decimal(38)."""
        if not self.is_numeric or len(self.modifiers) != 2:
            return None
        precision, scale = self.modifiers
        return scale if precision <= _MAX_SUMMED_PRECISION and 0 <= scale <= precision else None

    @property
    def decimal(self) -> str:
        """The decimal type that holds every finite value of an integer or declared numeric."""
        if self.is_integer:
            return "DECIMAL(19,0)"
        return f"DECIMAL({self.modifiers[0]},{self.modifiers[1]})"

    @property
    def carrier(self) -> str:
        """The PostgreSQL type in which values travel: integers as they are, all else as text."""
        return "bigint" if self.is_integer else "text"

    def carried(self, sql: str) -> str:
        """`sql` of this type as its carrier, byte for byte what PostgreSQL would print."""
        return f"({sql})::{self.carrier}"

    def canonical(self, sql: str) -> str:
        """`sql` as its carrier, with one form for all equal values."""
        if self.is_numeric:
            return f"trim_scale({sql})::text"
        return self.carried(sql)
