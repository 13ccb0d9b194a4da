"""The commands that bring their own story: demo, doctor, playbook run.

Imports inside functions: see `runnel.cli.engine`.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from runnel.cli.place import DsnArgument, DsnOption, JsonOption
from runnel.cli.printing import say
from runnel.errors import UserError


def demo(
    seconds: Annotated[float, typer.Option(min=1, help="how long orders come in")] = 30,
    rate: Annotated[float, typer.Option(min=1, help="orders a second")] = 50,
    json: JsonOption = False,
) -> None:
    """Watch it: PostgreSQL, Spark, orders coming in, a lake; everything is brought along."""
    from runnel import demos  # noqa: PLC0415

    raise typer.Exit(demos.run(seconds=seconds, rate=rate, as_json=json))


def doctor(dsn: DsnArgument = None) -> None:
    """Check what Runnel needs: Java, versions, the database, its rights."""
    from runnel.cli.checks import check_all  # noqa: PLC0415

    is_well = True
    for check in check_all(dsn):
        say(f"{check.mark} {check.text}")
        if check.hint:
            say(f"    {check.hint}")
        is_well = is_well and check.mark != "✗"
    if not is_well:
        raise typer.Exit(1)


def run_playbook(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the playbook, YAML")],
    dsn: DsnOption = None,
    embedded: Annotated[
        bool, typer.Option("--embedded", help="bring a PostgreSQL of its own for the catalogs")
    ] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="a value of the workload, as YAML")
    ] = None,
    data_path: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="where the lakes keep their files, instead of the steps' own"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run a playbook; exit code 1 where a step failed."""
    from runnel import playbook  # noqa: PLC0415

    if embedded and dsn:
        raise UserError("--embedded and a DSN exclude each other", hint="leave one out (RUNNEL_DSN counts)")
    overrides = _overrides(settings or [])
    with ExitStack() as held:
        if embedded:
            catalog = held.enter_context(playbook.embedded_catalog())
            dsn, data_path = catalog.dsn, data_path or catalog.data_path
        result = playbook.run_playbook(file, dsn=dsn, data_path=data_path, overrides=overrides)
    print(result.to_json() if json else playbook.render(result))
    if not result.ok:
        raise typer.Exit(1)


def _overrides(settings: list[str]) -> dict[str, object]:
    """`a.b=1` sets b in a; values are read as YAML, so that numbers are numbers."""
    import yaml  # noqa: PLC0415

    found: dict[str, object] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise UserError(f"--set {setting!r} cannot be read", hint="write --set key=value")
        try:
            found[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise UserError(f"the value of --set {key} is no YAML", detail=str(error)) from error
    return found
