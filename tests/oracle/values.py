"""The values that random histories are made of: ordinary ones, and those that once went wrong somewhere."""

from __future__ import annotations

from random import Random

LONG = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 120) AS i)"

_INTEGERS = ("-3", "-1", "0", "0", "1", "1", "2", "2", "3", "7")
_TEXTS = (
    "''",
    "'a'",
    "'a'",
    "'A'",
    "'b'",
    "'b '",
    "' b'",
    "'ä'",
    "'ß'",
    "'it''s'",
    r"'\n'",
    "'%'",
    "'x,\"y\"'",
)
_DAYS = (
    "2024-03-30",
    "2024-03-31",
    "2024-03-31",
    "2024-10-27",
    "2023-12-31",
    "0044-03-15 BC",
    "infinity",
    "-infinity",
)
_TIMES = ("2024-03-31 01:30:00", "2024-03-31 03:30:00", "2024-10-27 02:30:00", "2024-03-31 01:30:00.000001",
          "1969-12-31 23:59:59.999999", "0044-03-15 12:00:00 BC", "infinity", "-infinity")  # fmt: skip

POOLS: dict[str, tuple[str, ...]] = {
    "smallint": (*_INTEGERS, "32767", "-32768"),
    "integer": (*_INTEGERS, "2147483647", "-2147483648"),
    "bigint": (*_INTEGERS, "9223372036854775807", "-9223372036854775808", "4611686018427387904"),
    "numeric(10,2)": ("0", "1", "1.5", "1.50", "-2.25", "10.10", "99999999.99", "-99999999.99", "'NaN'"),
    "numeric(27,6)": ("0", "1.000001", "-1.000001", "123456789012345678901.123456", "999999999999999999999.999999",
                      "-999999999999999999999.999999", "'NaN'"),
    "numeric(38,10)": ("0", "1.0000000001", "9999999999999999999999999999.9999999999",
                       "-9999999999999999999999999999.9999999999", "2.5"),
    "numeric": ("0", "0.0", "1", "1.0", "1.00", "1.5", "-1.5", "1e-20", "1e40", "12345678901234567890.123456789",
                "'NaN'", "'Infinity'", "'-Infinity'"),
    "text": (*_TEXTS, LONG),
    "varchar(12)": _TEXTS,
    "boolean": ("true", "false"),
    "date": tuple(f"'{day}'" for day in (*_DAYS, "5874896-12-31")),
    "timestamp without time zone": tuple(f"'{time}'" for time in (*_TIMES, "294276-12-30 00:00:00")),
    "timestamp with time zone": tuple(
        f"'{time}'" for time in (*_TIMES, "2024-10-27 02:30:00+02", "294276-12-30 00:00:00+00")),
}  # fmt: skip

# What a column of a small domain is called for: equal keys have to meet.
KEYS: dict[str, tuple[str, ...]] = {
    "smallint": ("1", "2", "3", "-1"),
    "integer": ("1", "2", "3", "2147483647"),
    "bigint": ("1", "2", "3", "2147483647", "9223372036854775807"),
    "numeric(10,2)": ("1", "1.50", "'NaN'"),
    "numeric": ("1", "1.0", "1.00", "2.5", "'NaN'", "'Infinity'"),
    "text": ("'a'", "'b'", "''", "'A'"),
    "varchar(12)": ("'a'", "'b'", "''", "'b '"),
    "boolean": ("true", "false"),
    "date": ("'2024-03-31'", "'infinity'", "'0044-03-15 BC'"),
    "timestamp without time zone": ("'2024-03-31 01:30:00'", "'infinity'", "'2024-10-27 02:30:00'"),
    "timestamp with time zone": ("'2024-03-31 01:30:00'", "'-infinity'", "'2024-10-27 02:30:00+01'"),
}

TYPES = tuple(POOLS)


def literal(rng: Random, type_: str, *, key: bool = False) -> str:
    """A value as SQL; NULL now and then."""
    if rng.random() < 0.12:
        return f"NULL::{type_}"
    chosen = rng.choice((KEYS if key else POOLS)[type_])
    return f"({chosen})::{type_}" if not chosen.startswith("'") else f"{chosen}::{type_}"


def is_integer(type_: str) -> bool:
    return type_ in ("smallint", "integer", "bigint")


def is_number(type_: str) -> bool:
    return is_integer(type_) or type_.startswith("numeric")


def is_text(type_: str) -> bool:
    return type_ in ("text", "varchar(12)")


def is_time(type_: str) -> bool:
    return type_ == "date" or type_.startswith("timestamp")
