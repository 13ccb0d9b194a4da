"""What the public face gives back about stream tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Status:
    """How a stream table stands: a row of pgtrickle.pgt_status()."""

    name: str
    status: str
    is_populated: bool
    refresh_mode: str
    effective_mode: str | None
    reason: str | None
    schedule: str
    refresh_number: int
    refreshed_at: datetime | None
    last_error: str | None
    sink: str | None
    sink_mode: str | None
    published: int | None
    sink_error: str | None
    owner: str


@dataclass(frozen=True, slots=True)
class Refresh:
    """One refresh of the past: a row of pgtrickle.get_refresh_history()."""

    refresh_id: UUID
    refresh_number: int | None
    status: str
    mode: str
    gear: str | None
    reason: str | None
    error: str | None
    rows_in: int | None
    rows_out: int | None
    phases: Mapping[str, float] | None
    started_at: datetime
    ended_at: datetime

    @property
    def duration_ms(self) -> float:
        return (self.ended_at - self.started_at).total_seconds() * 1000
