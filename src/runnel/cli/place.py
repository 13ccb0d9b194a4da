"""Which database a command is about: its argument, RUNNEL_DSN, or what the PG* variables say."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from runnel.errors import UserError

DsnArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="DSN",
        envvar="RUNNEL_DSN",
        help="postgresql://user@host:5432/dbname; else RUNNEL_DSN, else the PG* variables",
        show_envvar=False,
    ),
]
DsnOption = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        metavar="DSN",
        envvar="RUNNEL_DSN",
        help="postgresql://user@host:5432/dbname; else RUNNEL_DSN, else the PG* variables",
        show_envvar=False,
    ),
]
MasterOption = Annotated[str, typer.Option(metavar="URL", help="the Spark master to compute on")]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON instead of text")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="the stream table, as name or schema.name")]

_FROM_ENVIRONMENT = ("PGHOST", "PGHOSTADDR", "PGDATABASE", "PGSERVICE", "PGPORT", "PGUSER")


def dsn_of(given: str | None) -> str:
    """An empty connection string means the PG* variables; without those nobody has named a database."""
    if given:
        return given
    if any(os.environ.get(name) for name in _FROM_ENVIRONMENT):
        return ""
    raise UserError(
        "no database was named", hint="pass a DSN like postgresql://user@host:5432/dbname, or set RUNNEL_DSN"
    )
