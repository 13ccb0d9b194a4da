"""The commands about stream tables: create, alter, drop, status, refresh, verify, explain, history.

Imports inside functions: see `runnel.cli.engine`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from runnel.cli.place import DsnOption, JsonOption, MasterOption, NameArgument, dsn_of
from runnel.cli.printing import as_json, say, table
from runnel.errors import UserError


def create(
    name: NameArgument,
    query: Annotated[
        str | None, typer.Argument(metavar="[QUERY]", help="one SELECT; else --file, else read from stdin")
    ] = None,
    dsn: DsnOption = None,
    file: Annotated[Path | None, typer.Option(metavar="FILE", help="read the query from a file")] = None,
    schedule: Annotated[str, typer.Option(help="how often to look: '200ms', '5s', '1m', '2h', '1d'")] = "1m",
    refresh_mode: Annotated[str, typer.Option("--mode", help="AUTO, DIFFERENTIAL or FULL")] = "AUTO",
    sink: Annotated[str | None, typer.Option(help="'ducklake' publishes every refresh to the lake")] = None,
    sink_mode: Annotated[str | None, typer.Option(help="append or replace")] = None,
) -> None:
    """Create a stream table: a table that follows a query."""
    from runnel.api import connect  # noqa: PLC0415

    with connect(dsn_of(dsn)) as rn:
        created = rn.create_stream_table(
            name,
            _query(query, file),
            schedule=schedule,
            refresh_mode=refresh_mode,
            sink=sink,
            ducklake_sink_mode=sink_mode,
        )
    say(f"stream table {created} is created; `runnel run` fills it and keeps it fresh")


def alter(
    name: NameArgument,
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help="the new SELECT")] = None,
    dsn: DsnOption = None,
    schedule: Annotated[str | None, typer.Option(help="'200ms', '5s', '1m', '2h', '1d'")] = None,
    refresh_mode: Annotated[str | None, typer.Option("--mode", help="AUTO, DIFFERENTIAL or FULL")] = None,
    sink: Annotated[str | None, typer.Option(help="'ducklake' or 'none'")] = None,
    sink_mode: Annotated[str | None, typer.Option(help="append or replace")] = None,
) -> None:
    """Change what is given of a stream table, and leave the rest."""
    from runnel.api import connect  # noqa: PLC0415

    with connect(dsn_of(dsn)) as rn:
        rn.alter_stream_table(
            name,
            query=query,
            schedule=schedule,
            refresh_mode=refresh_mode,
            sink=sink,
            ducklake_sink_mode=sink_mode,
        )
    say(f"stream table {name} is altered")


def drop(
    name: NameArgument,
    dsn: DsnOption = None,
    cascade: Annotated[bool, typer.Option("--cascade", help="also the stream tables that read it")] = False,
) -> None:
    """Remove a stream table with everything that creating it made."""
    from runnel.api import connect  # noqa: PLC0415

    with connect(dsn_of(dsn)) as rn:
        rn.drop_stream_table(name, cascade=cascade)
    say(f"stream table {name} is dropped")


def status(dsn: DsnOption = None, json: JsonOption = False) -> None:
    """How the stream tables stand."""
    from runnel.api import connect  # noqa: PLC0415

    with connect(dsn_of(dsn)) as rn:
        found = rn.status()
    if json:
        as_json(found)
        return
    if not found:
        say("there are no stream tables yet; create one: runnel create NAME 'SELECT …'")
        return
    columns = ("name", "status", "mode", "schedule", "refresh", "refreshed at", "sink", "published")
    table(
        columns,
        [
            (
                s.name,
                s.status,
                s.effective_mode or s.refresh_mode,
                s.schedule,
                s.refresh_number,
                s.refreshed_at,
                f"{s.sink} ({s.sink_mode})" if s.sink else None,
                s.published,
            )
            for s in found
        ],
    )
    for each in found:
        for title, text in (
            ("reason", each.reason),
            ("last error", each.last_error),
            ("sink", each.sink_error),
        ):
            if text:
                say(f"{each.name}: {title}: {text}")


def refresh(
    name: NameArgument,
    dsn: DsnOption = None,
    full: Annotated[bool, typer.Option("--full", help="compute the whole query again")] = False,
    master: MasterOption = "local[2]",
) -> None:
    """Refresh a stream table now, in this process, and publish it."""
    from runnel.api import connect  # noqa: PLC0415

    with connect(dsn_of(dsn), master=master) as rn:
        outcome = rn.refresh(name, full=full)
        published = rn.publish(name)
    if not outcome.refreshed:
        say(f"{outcome.name}: nothing has changed since refresh {outcome.refresh_number}")
    else:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        say(
            f"{outcome.name}: refresh {outcome.refresh_number}, {outcome.rows_in} rows in,"
            f" {outcome.rows_out} rows out, {outcome.duration_ms:.0f} ms, {outcome.mode}{reason}"
        )
    if published is not None:
        snapshots = ", ".join(str(s.snapshot_id) for s in published.snapshots) or "none"
        say(f"{published.name}: published up to refresh {published.upto}, lake snapshots: {snapshots}")


def verify(
    name: NameArgument, dsn: DsnOption = None, json: JsonOption = False, master: MasterOption = "local[2]"
) -> None:
    """Compare a stream table with what PostgreSQL computes from its query; exit code 1 where they differ."""
    from runnel.api import connect  # noqa: PLC0415

    with connect(dsn_of(dsn), master=master) as rn:
        verdict = rn.verify(name)
    if json:
        as_json(verdict)
    elif verdict.ok:
        say(f"{verdict.name}: equal to its query at refresh {verdict.refresh_number}, {verdict.rows} rows")
    else:
        say(f"{verdict.name}: differs from its query at refresh {verdict.refresh_number}")
        for title, count, rows in (
            ("missing", verdict.missing, verdict.missing_sample),
            ("extra", verdict.extra, verdict.extra_sample),
        ):
            say(f"  {title}: {count} rows")
            for row in rows:
                say(f"    {row}")
        say(f"hint: runnel refresh --full {verdict.name}")
    if not verdict.ok:
        raise typer.Exit(1)


def explain(name: NameArgument, dsn: DsnOption = None) -> None:
    """Print the program of a stream table: what a refresh runs."""
    from runnel.api import connect  # noqa: PLC0415

    with connect(dsn_of(dsn)) as rn:
        print(rn.explain(name), end="")


def history(
    name: NameArgument,
    dsn: DsnOption = None,
    limit: Annotated[int, typer.Option(min=1, help="how many refreshes, newest first")] = 20,
    json: JsonOption = False,
) -> None:
    """The newest refreshes of a stream table."""
    from runnel.api import connect  # noqa: PLC0415

    with connect(dsn_of(dsn)) as rn:
        found = rn.history(name, limit)
    if json:
        as_json(found)
        return
    columns = ("refresh", "status", "mode", "gear", "rows in", "rows out", "ms", "started at", "why")
    table(
        columns,
        [
            (
                r.refresh_number,
                r.status,
                r.mode,
                r.gear,
                r.rows_in,
                r.rows_out,
                r.duration_ms,
                r.started_at,
                r.error or r.reason,
            )
            for r in found
        ],
    )


def _query(given: str | None, file: Path | None) -> str:
    if given is not None and given != "-":
        return given
    if file is not None:
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"the query cannot be read from {file}", detail=str(error)) from error
    if sys.stdin.isatty():
        raise UserError("no query was given", hint="runnel create NAME 'SELECT …', or --file FILE")
    return sys.stdin.read()
