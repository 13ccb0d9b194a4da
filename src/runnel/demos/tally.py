"""Counts what happens while the demo runs: what the shop wrote, what refreshes changed, what the reader saw."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

from runnel.demos.processes import Message
from runnel.scheduler import Event
from runnel.subscribers import Published

NEW_ORDERS = ("ordered", "ordered and shipped")
_PROBLEMS = frozenset({"failed", "sink-failed", "trouble"})


@dataclass(slots=True)
class Course:
    """What became of one stream table."""

    refreshes: int = 0
    rows_changed: int = 0
    refresh_ms: list[float] = field(default_factory=list)
    mode: str | None = None
    snapshots: int = 0
    snapshot: int | None = None


@dataclass(slots=True)
class Tally:
    """Written to by the threads that listen, read by the one that shows; each field has one writer."""

    courses: dict[str, Course]
    commits: list[tuple[str, str, float]] = field(default_factory=list)
    written: Counter[str] = field(default_factory=Counter)
    sightings: list[tuple[int, float]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _taken_at: dict[UUID, float] = field(default_factory=dict)
    _contents: dict[int, float] = field(default_factory=dict)

    @property
    def orders(self) -> int:
        return sum(self.written[what] for what in NEW_ORDERS)

    @property
    def behind_ms(self) -> float | None:
        """How old the newest snapshot's view of the orders was when the reader had read it."""
        for snapshot, at in reversed(self.sightings):
            if snapshot in self._contents:
                return (at - self._contents[snapshot]) * 1000
        return None

    def begin(self) -> None:
        """Forget the first fills: from here on it is about changes."""
        for name in self.courses:
            self.courses[name] = Course()

    def on_commits(self, message: Message) -> None:
        for xid, what, at in message["commits"]:
            self.commits.append((xid, what, at))
            self.written[what] += 1

    def on_sighting(self, message: Message) -> None:
        self.sightings.append((message["snapshot"], message["at"]))

    def on_event(self, event: Event) -> None:
        """Called by the engine, one event at a time."""
        course = self.courses.get((event.name or "").removeprefix("public."))
        if event.kind in _PROBLEMS:
            self.problems.append(event.text)
        elif course is not None and event.kind == "refreshed":
            self._refreshed(course, event)
        elif course is not None and event.kind == "published":
            self._published(course, cast(Published, event.published))

    def _refreshed(self, course: Course, event: Event) -> None:
        outcome = event.outcome
        if outcome is None:
            return
        course.refreshes += 1
        course.rows_changed += outcome.rows_out
        course.refresh_ms.append(outcome.duration_ms)
        course.mode = outcome.mode
        if outcome.refresh_id is not None:
            self._taken_at[outcome.refresh_id] = time.monotonic() - outcome.duration_ms / 1000

    def _published(self, course: Course, published: Published) -> None:
        for made in published.snapshots:
            course.snapshots += 1
            course.snapshot = made.snapshot_id
            taken_at = self._taken_at.get(made.refresh_id)
            if taken_at is not None:
                self._contents[made.snapshot_id] = taken_at
