"""What is known of PostgreSQL's functions and operators beyond their volatility, as explicit lists."""

from __future__ import annotations

# STABLE only because session settings (TimeZone, DateStyle, …) matter, and those are fixed per stream table.
SETTINGS_ONLY = frozenset(
    {
        "date_trunc(text,timestamp with time zone)",
        "date_trunc(text,timestamp with time zone,text)",
        "date(timestamp with time zone)",
        "timestamp(timestamp with time zone)",
        "timestamptz(timestamp without time zone)",
        "timestamptz(date)",
        '"time"(timestamp with time zone)',
        "date_part(text,timestamp with time zone)",
        '"extract"(text,timestamp with time zone)',
        "to_char(timestamp with time zone,text)",
        "to_char(timestamp without time zone,text)",
        "timestamptz_pl_interval(timestamp with time zone,interval)",
        "timestamptz_mi_interval(timestamp with time zone,interval)",
        *(
            f"{left}_{operator}_{right}({types})"
            for operator in ("eq", "ne", "lt", "le", "gt", "ge")
            for left, right, types in (
                ("date", "timestamptz", "date,timestamp with time zone"),
                ("timestamptz", "date", "timestamp with time zone,date"),
                ("timestamp", "timestamptz", "timestamp without time zone,timestamp with time zone"),
                ("timestamptz", "timestamp", "timestamp with time zone,timestamp without time zone"),
            )
        ),
    }
)

# These never raise, whatever their arguments.
SAFE_FUNCTIONS = frozenset(
    {"lower", "upper", "btrim", "ltrim", "rtrim", "length", "concat", "md5", "date_trunc"}
)
SAFE_OPERATORS = frozenset({"=", "<>", "<", "<=", ">", ">=", "||", "->", "->>"})

# Casts that never raise: from, to (without modifiers).
SAFE_CASTS = frozenset(
    {
        ("smallint", "integer"),
        ("smallint", "bigint"),
        ("smallint", "numeric"),
        ("integer", "bigint"),
        ("integer", "numeric"),
        ("bigint", "numeric"),
        ("timestamp without time zone", "date"),
        ("timestamp with time zone", "date"),
        ("character varying", "text"),
    }
)

AGGREGATES = frozenset({"count", "sum", "avg", "min", "max"})
