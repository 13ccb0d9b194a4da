"""The command `runnel`: every verb in one place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

import runnel
from runnel.cli import engine, stories, tables
from runnel.cli.edge import guarded

_HELP = "Keep SQL query results fresh, in PostgreSQL and in the lake, by computing only what changed."

app = typer.Typer(
    name="runnel",
    help=_HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
playbook = typer.Typer(help="Workflows of SQL steps on lakes.", no_args_is_help=True)
app.add_typer(playbook, name="playbook")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"runnel {runnel.__version__}")
        raise typer.Exit


@app.callback(help=_HELP)
def root(
    version: Annotated[
        bool,
        typer.Option("--version", help="print the version and leave", is_eager=True, callback=_show_version),
    ] = False,
) -> None:
    """What all verbs share; its help is the application's own."""


_COMMANDS: tuple[Callable[..., None], ...] = (
    engine.init,
    engine.run,
    tables.create,
    tables.alter,
    tables.drop,
    tables.status,
    tables.refresh,
    tables.verify,
    tables.explain,
    tables.history,
    stories.demo,
    stories.doctor,
)
for command in _COMMANDS:
    app.command()(command)
playbook.command("run")(stories.run_playbook)


def main() -> None:
    """The entry point; never a traceback, unless RUNNEL_DEBUG asks for it."""
    sys.exit(guarded(app))
