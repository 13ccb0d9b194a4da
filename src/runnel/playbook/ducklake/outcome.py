"""What commands and loop items gave back, and the form in which a response tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CommandResult:
    """One entry of a response's commands: rows, or how many rows were written."""

    rows: tuple[Mapping[str, Any], ...] | None = None
    columns: tuple[str, ...] = ()
    affected_rows: int | None = None
    warnings: tuple[str, ...] = ()

    def response(self, index: int) -> dict[str, Any]:
        entry: dict[str, Any] = {"command_index": index, "status": "executed"}
        if self.rows is not None:
            rows = [dict(row) for row in self.rows]
            entry |= {"row_count": len(rows), "columns": list(self.columns), "rows": rows}
        if self.affected_rows is not None:
            entry["affected_rows"] = self.affected_rows
        if self.warnings:
            entry["warnings"] = list(self.warnings)
        return entry


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """One item of a loop, as its worker saw it; `repeated` when an earlier attempt had written it already."""

    index: int
    worker: str
    seconds: float
    commands: tuple[CommandResult, ...] = ()
    error: str | None = None
    repeated: bool = False

    @property
    def ok(self) -> bool:
        return self.error is None

    def response(self, element: Any) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "index": self.index,
            "element": element,
            "status": "ok" if self.ok else "error",
            "worker": self.worker,
            "duration_ms": round(self.seconds * 1000, 3),
        }
        if self.error is not None:
            return entry | {"error": self.error}
        if self.repeated:
            entry["repeated"] = True
        return entry | commands_response(self.commands)


def commands_response(commands: Sequence[CommandResult]) -> dict[str, Any]:
    entries = [command.response(index) for index, command in enumerate(commands)]
    return {
        "command_count": len(entries),
        "commands": entries,
        "data": {f"command_{index}": entry for index, entry in enumerate(entries)},
    }
