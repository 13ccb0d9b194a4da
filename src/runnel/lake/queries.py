"""The room's SQL, named in sql/*.sql, bound to the schema of one catalog."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from psycopg import sql

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries(schema: str) -> dict[str, str]:
    """Every named statement, with `{lake}` replaced by the quoted schema of the catalog's tables."""
    found: dict[str, str] = {}
    for resource in files("runnel.lake").joinpath("sql").iterdir():
        if resource.name.endswith(".sql"):
            _, *parts = _NAME.split(resource.read_text())
            for name, body in zip(parts[::2], parts[1::2], strict=True):
                template = sql.SQL(body.strip().rstrip(";"))
                found[name] = template.format(lake=sql.Identifier(schema)).as_string(None)
    return found
