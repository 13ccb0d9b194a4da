"""What the demo found out: one record, as text for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import quantiles

from runnel.demos.comparison import Difference, Latency, Point
from runnel.demos.tally import Course


@dataclass(frozen=True, slots=True)
class Finding:
    """One stream table: its course, and what the judges say; `lake` is its sink's mode."""

    name: str
    refreshes: int
    rows_changed: int
    refresh_p50_ms: float | None
    refresh_p99_ms: float | None
    mode: str | None
    query: Difference
    is_verified: bool
    lake: str | None = None
    snapshots: int = 0
    view: Difference | None = None
    latency: Latency | None = None

    @property
    def failures(self) -> list[str]:
        """Each in one line; empty where all is as it should be."""
        found = []
        if not self.query.is_equal:
            found.append(f"{self.name} is not what its query says: {_told(self.query)}")
        if not self.is_verified:
            found.append(f"{self.name} does not pass verify")
        if self.view is not None and not self.view.is_equal:
            found.append(f"the lake's view {self.name} is not the stream table: {_told(self.view)}")
        if self.latency is not None and (self.latency.unseen or not self.latency.orders):
            found.append(f"{self.latency.unseen} orders never reached the lake's view {self.name}")
        return found


@dataclass(frozen=True, slots=True)
class Report:
    seconds: float
    rate: float
    orders: int
    orders_per_second: float
    transactions: Mapping[str, int]
    stream_tables: tuple[Finding, ...]
    trend: tuple[Point, ...]
    problems: tuple[str, ...]

    @property
    def failures(self) -> list[str]:
        return [failure for finding in self.stream_tables for failure in finding.failures]

    @property
    def ok(self) -> bool:
        return not self.failures

    def to_json(self) -> str:
        tables = {finding.name: _without_name(finding) for finding in self.stream_tables}
        content = asdict(self) | {"stream_tables": tables}
        return json.dumps({"ok": self.ok, "failures": self.failures, **content}, indent=2)


def refresh_times(course: Course) -> tuple[float | None, float | None]:
    """The median and the 99th percentile, in milliseconds."""
    times = course.refresh_ms
    if len(times) < 2:
        return (times[0], times[0]) if times else (None, None)
    cuts = quantiles(times, n=100, method="inclusive")
    return cuts[49], cuts[98]


def _without_name(finding: Finding) -> dict[str, object]:
    content = asdict(finding)
    del content["name"]
    for key in ("query", "view"):
        difference = getattr(finding, key)
        if difference is not None:
            content[key]["equal"] = difference.is_equal
    return content


def _told(difference: Difference) -> str:
    return f"{difference.missing} rows missing, {difference.extra} rows too many"
