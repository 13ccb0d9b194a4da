"""The names that a playbook's templates see, as a run goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runnel.errors import UserError
from runnel.playbook.document import Step


@dataclass(slots=True)
class Context:
    """What is known of a run: `workload.x` and `vars.x`, the same by bare name, each step's response."""

    execution_id: str
    workload: Mapping[str, Any]
    variables: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, Any] = field(default_factory=dict)

    def names(self, step: Step | None = None, **more: Any) -> dict[str, Any]:
        return {
            **self.workload,
            **self.variables,
            **self.steps,
            **(step.args if step else {}),
            "workload": self.workload,
            "vars": self.variables,
            "execution_id": self.execution_id,
            **more,
        }

    def keep(self, step: str, response: Mapping[str, Any]) -> None:
        """A step's response under its name: `load.data.command_0` and `load.result.data.command_0` alike."""
        self.steps[step] = {**(response.get("result") or {}), **response}


def with_overrides(workload: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The workload with some values replaced; `a.b` reaches into a mapping."""
    changed = dict(workload)
    for name, value in overrides.items():
        first, _, rest = name.partition(".")
        if not first:
            raise UserError(f"override {name!r} names nothing", hint="write --set name=value")
        inner = changed.get(first)
        changed[first] = (
            with_overrides(inner if isinstance(inner, Mapping) else {}, {rest: value}) if rest else value
        )
    return changed
