"""A run's result as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runnel.playbook.result import PlaybookResult, StepResult, plain

_MOST_ROWS = 20


def render_result(result: PlaybookResult) -> str:
    lines = [line for step in result.steps for line in _step(step)]
    lines.append(f"playbook {result.playbook}: {result.status} in {result.seconds:.2f} s")
    lines += [f"  {name} = {plain(value)}" for name, value in result.variables.items()]
    return "\n".join(lines)


def _step(step: StepResult) -> Iterator[str]:
    yield f"{step.step}: {step.status} ({step.seconds * 1000:.0f} ms)"
    response = step.response
    for name in ("error", "detail", "hint"):
        if response.get(name):
            yield f"  {name}: {response[name]}"
    result = response.get("result") or {}
    for command in result.get("commands", ()):
        yield from _command(command)
    if "stats" in result:
        yield from _loop(response, result)


def _command(command: Mapping[str, Any]) -> Iterator[str]:
    for warning in command.get("warnings", ()):
        yield f"  warning: {warning}"
    if "rows" in command:
        yield from _table(command["columns"], command["rows"])
    else:
        yield f"  command {command['command_index']}: {command['affected_rows']} rows affected"


def _loop(response: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[str]:
    stats = result["stats"]
    counts = ", ".join(f"{count} {name}" for name, count in stats.items())
    yield f"  items: {counts}"
    for worker in response.get("workers", ()):
        mine = [str(each["index"]) for each in result["results"] if each["worker"] == worker]
        shown = ", ".join(mine[:_MOST_ROWS]) + (", …" if len(mine) > _MOST_ROWS else "")
        yield f"  worker {worker}: {len(mine)} items ({shown})"


def _table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    cells = [
        [str(plain(row[column])) if row[column] is not None else "" for column in columns] for row in rows
    ]
    shown = cells[:_MOST_ROWS]
    widths = [max(len(each) for each in column) for column in zip(columns, *shown, strict=True)]
    for line in ([*columns], *shown):
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    if len(rows) > _MOST_ROWS:
        yield f"  … {len(rows) - _MOST_ROWS} more rows"
