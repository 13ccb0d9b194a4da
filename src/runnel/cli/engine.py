"""`runnel init` and `runnel run`: bringing Runnel into a database, and keeping it fresh.

Imports inside functions are this room's one exception: pyspark alone takes longer to import than `runnel --help`
may take to run.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runnel.cli.place import DsnArgument, MasterOption, dsn_of
from runnel.cli.printing import say

if TYPE_CHECKING:
    from runnel.scheduler import Event

_PROBLEMS = frozenset({"failed", "sink-failed", "trouble", "waiting"})


def init(
    dsn: DsnArgument = None,
    lake_schema: Annotated[
        str, typer.Option(metavar="SCHEMA", help="where the catalog of the sinks' lake lies")
    ] = "ducklake",
    data_path: Annotated[
        Path | None, typer.Option(metavar="DIR", help="where the sinks' lake keeps its files; makes the lake")
    ] = None,
) -> None:
    """Install the SQL API in a database, and say which GRANTs are missing."""
    from runnel.api import connect  # noqa: PLC0415

    with connect(dsn_of(dsn)) as rn:
        report = rn.install(
            lake_schema=lake_schema, data_path=str(data_path.absolute()) if data_path else None
        )
        database = rn.connection.info.dbname
    done = "is installed" if report.fresh else "was installed already, and is up to date"
    say(
        f"the SQL API {report.version} {done} in the database {database}; its engine's role is {report.engine_role}"
    )
    if data_path is not None:
        say(f"the lake of its sinks: catalog in the schema {lake_schema}, files in {data_path.absolute()}")
    if report.missing_grants:
        say(
            "missing, to follow the tables of this database (as their owner or a superuser; leave out what you like):"
        )
        for grant in report.missing_grants:
            say(f"  {grant}")
    say("next: SELECT pgtrickle.create_stream_table('name', 'SELECT …', '5s');  and: runnel run")


def run(
    dsn: DsnArgument = None,
    master: MasterOption = "local[2]",
    wait: Annotated[
        bool, typer.Option(help="where another engine serves the database, wait to take its place")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print problems only")] = False,
) -> None:
    """Keep the stream tables of a database fresh, until Ctrl-C."""
    from runnel.api import connect  # noqa: PLC0415
    from runnel.scheduler import stop_on_signals  # noqa: PLC0415

    stop = threading.Event()
    with connect(dsn_of(dsn), master=master) as rn:
        rn.prepare()
        # pyspark installs a handler of its own when its session starts, so ours come after it
        with stop_on_signals(stop):
            rn.run(stop, _printer(quiet), waits_for_place=wait)


def _printer(quiet: bool) -> Callable[[Event], None]:
    def show(event: Event) -> None:
        is_problem = event.kind in _PROBLEMS
        if quiet and not is_problem:
            return
        line = f"{event.at.astimezone():%H:%M:%S} {event.text}"
        if event.error is not None and event.error.hint:
            line += f" (hint: {event.error.hint})"
        print(line, file=sys.stderr if is_problem else sys.stdout, flush=True)

    return show
