"""What a run of a playbook gives back, in Python and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from math import isfinite
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: step.enter, call.done, loop.item, loop.done or step.exit."""

    name: str
    step: str
    payload: Mapping[str, Any]
    timestamp: datetime


@dataclass(frozen=True, slots=True)
class StepResult:
    """One visit of a step: its response in the tool's format, the variables it set, and its time."""

    step: str
    status: str
    response: Mapping[str, Any]
    variables: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True, slots=True)
class PlaybookResult:
    """A run: `ok`, or `error` with the step that failed as the last one."""

    playbook: str
    execution_id: str
    status: str
    steps: tuple[StepResult, ...]
    variables: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def error(self) -> str | None:
        return next((str(each.response.get("error")) for each in self.steps if each.status == "error"), None)

    def response(self, step: str) -> Mapping[str, Any]:
        """The response of a step's last visit."""
        return next(each.response for each in reversed(self.steps) if each.step == step)

    def to_json(self) -> str:
        document = {
            "playbook": self.playbook,
            "execution_id": self.execution_id,
            "status": self.status,
            "duration_ms": round(self.seconds * 1000, 1),
            "vars": self.variables,
            "steps": [
                {"step": each.step, "duration_ms": round(each.seconds * 1000, 1), **each.response}
                for each in self.steps
            ],
        }
        return json.dumps(plain(document), indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """A value as JSON can hold it without loss: a decimal keeps its digits as text, a time is ISO 8601."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if isfinite(value) else str(value)
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return value.hex()
        case _:
            return str(value)
