"""What the loop tells whoever started it: the command prints it, the demo draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from runnel.errors import RunnelError
from runnel.refresh.model import Outcome
from runnel.subscribers import Published

Kind: TypeAlias = Literal[
    "started",
    "refreshed",
    "failed",
    "published",
    "sink-failed",
    "waiting",
    "resumed",
    "trouble",
    "stopped",
]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; `text` says it in one line without a secret."""

    kind: Kind
    text: str
    name: str | None = None
    outcome: Outcome | None = None
    published: Published | None = None
    error: RunnelError | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


OnEvent: TypeAlias = Callable[[Event], None]


def silent(_: Event) -> None:
    """For whoever does not listen."""


def of_outcome(outcome: Outcome) -> Event:
    if outcome.error is not None:
        text = f"{outcome.name} could not be refreshed: {outcome.error.message}"
        return Event("failed", text, outcome.name, outcome, error=outcome.error)
    mode = outcome.mode or ""
    if mode == "FULL" and outcome.reason:
        mode = f"FULL ({outcome.reason})"
    text = (
        f"{outcome.name} #{outcome.refresh_number}: {outcome.rows_in} rows in, {outcome.rows_out} rows out,"
        f" {outcome.duration_ms:.0f} ms, {mode}"
    )
    return Event("refreshed", text, outcome.name, outcome)


def of_publication(name: str, published: Published) -> Event:
    snapshots = [snapshot.snapshot_id for snapshot in published.snapshots]
    if not snapshots:
        made = "nothing to show"
    elif len(snapshots) == 1:
        made = f"lake snapshot {snapshots[0]}"
    else:
        made = f"lake snapshots {snapshots[0]} to {snapshots[-1]}"
    ms = sum(published.phases.values())
    text = f"{name} published up to #{published.upto}: {made}, {ms:.0f} ms"
    return Event("published", text, name, published=published)
