"""The tool itself: a step's commands on its lake, once here or for each item of a loop in Spark's workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import psycopg
from pyspark.sql import SparkSession

from runnel.errors import TransientError, UserError
from runnel.playbook.ducklake.commands import first_line, hint_for, run_command
from runnel.playbook.ducklake.dialect import translate
from runnel.playbook.ducklake.distribute import run_on_spark
from runnel.playbook.ducklake.items import Item
from runnel.playbook.ducklake.lake import Lake
from runnel.playbook.ducklake.ledger import Ledger
from runnel.playbook.ducklake.outcome import CommandResult, ItemOutcome, commands_response
from runnel.playbook.ducklake.pool import Session, session, worker_id
from runnel.playbook.ducklake.preparing import prepare
from runnel.playbook.ducklake.snapshots import catalog_info, clamp_of, newest_snapshot
from runnel.playbook.ducklake.worker import Work
from runnel.playbook.secrets import hide

Response = dict[str, Any]


class CommandFailed(UserError):
    """A command that DuckDB refused; the step stops at it."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of a step: a step that a workflow comes back to is another visit."""

    execution_id: str
    step: str
    number: int

    @property
    def variables(self) -> dict[str, str]:
        return {"execution_id": self.execution_id, "step": self.step}


def run_commands(lake: Lake, commands: Sequence[str], visit: Visit) -> Response:
    lake = prepare(lake)
    results: list[CommandResult] = []
    try:
        with session(lake, visit.variables) as on_lake:
            for index, command in enumerate(commands):
                results.append(_run_one(on_lake, index, command, visit))
        info = catalog_info(lake)
    except (psycopg.Error, duckdb.Error) as error:
        raise _unreachable(lake, error) from None
    result = commands_response(results)
    return {
        "status": "ok",
        "worker": worker_id(),
        "result": result,
        "catalog_info": info,
    }


def _run_one(on_lake: Session, index: int, command: str, visit: Visit) -> CommandResult:
    try:
        return run_command(on_lake, translate(command, clamp_of(on_lake)), visit.step)
    except duckdb.Error as error:
        raise CommandFailed(
            f"command {index} failed: {hide(first_line(error), on_lake.lake.conninfo)}",
            detail=_shown(command, on_lake.lake),
            hint=hint_for(error),
        ) from None


def run_loop(
    lake: Lake,
    items: Sequence[Item],
    elements: Sequence[Any],
    visit: Visit,
    *,
    partitions: int,
    ordered: bool,
    spark: Callable[[], SparkSession],
) -> Response:
    """All items, told in the order of the collection; it fails when one of them did."""
    lake = prepare(lake)
    try:
        ledger = Ledger(f"{visit.execution_id}/{visit.step}/{visit.number}", newest_snapshot(lake))
        work = Work(lake, tuple(items), ordered, ledger, visit.step, visit.execution_id)
        outcomes = run_on_spark(spark(), work, min(partitions, len(items))) if items else []
        info = catalog_info(lake)
    except psycopg.Error as error:
        raise _unreachable(lake, error) from None
    return _loop_response(outcomes, elements, info)


def _loop_response(
    outcomes: Sequence[ItemOutcome], elements: Sequence[Any], info: Mapping[str, Any]
) -> Response:
    results = [outcome.response(elements[outcome.index]) for outcome in outcomes]
    failed = [outcome for outcome in outcomes if not outcome.ok]
    stats = {"total": len(elements), "success": len(outcomes) - len(failed), "failed": len(failed)}
    if len(outcomes) < len(elements):
        stats["skipped"] = len(elements) - len(outcomes)
    response: Response = {
        "status": "error" if failed else "ok",
        "workers": sorted({outcome.worker for outcome in outcomes}),
        "result": {"results": results, "stats": stats},
        "catalog_info": info,
    }
    if failed:
        first = failed[0]
        response["error"] = (
            f"{len(failed)} of {len(elements)} items failed; "
            f"item {first.index} ({_short(repr(elements[first.index]))}): {first.error}"
        )
    return response


def _unreachable(lake: Lake, error: Exception) -> TransientError:
    return TransientError(
        f'the catalog database of lake "{lake.catalog_name}" failed',
        detail=hide(str(error).strip(), lake.conninfo),
    )


def _shown(command: str, lake: Lake) -> str:
    """The command as the user may see it again in an error: short, and never one that makes a secret."""
    if "secret" in command.lower():
        return "the command is not shown because it names a secret"
    return _short(hide(" ".join(command.split()), lake.conninfo), 200)


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
