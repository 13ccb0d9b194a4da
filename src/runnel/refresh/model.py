"""What a refresh is about: options, compiled stream tables, attempts and outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter
from uuid import UUID

import pyarrow as pa

from runnel.catalog.client import StreamTable
from runnel.delta import DeltaProgram, Gear, Target
from runnel.engine import Input, StagedRows
from runnel.errors import RunnelError


@dataclass(frozen=True, slots=True)
class Options:
    """How the engine refreshes. `gear` forces one, for tests and measurements."""

    first_gear_rows: int = 20_000
    lock_timeout_ms: int = 5_000
    gear: Gear | None = None


@dataclass(frozen=True, slots=True)
class Compiled:
    """A stream table with its program, or with the reason why it runs FULL."""

    table: StreamTable
    target: Target
    program: DeltaProgram | None
    reason: str | None


@dataclass(slots=True)
class Attempt:
    """One stream table (as of S) on its way through one refresh; each step fills what the next one needs."""

    table: StreamTable
    compiled: Compiled
    refresh_id: UUID
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    phases: dict[str, float] = field(default_factory=dict)
    mode: str = "DIFFERENTIAL"
    gear: Gear | None = None
    reason: str | None = None
    full_reason: str | None = None
    pages: dict[int, int] = field(default_factory=dict)
    inputs: tuple[Input, ...] = ()
    frontier: str = ""
    consumed: dict[int, int] = field(default_factory=dict)
    rows: pa.Table | None = None
    staged: StagedRows | None = None
    content: str | None = None
    rows_in: int = 0
    rows_out: int = 0
    number: int | None = None
    error: RunnelError | None = None

    @property
    def name(self) -> str:
        return self.table.qualified_name

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self.phases[phase] = self.phases.get(phase, 0.0) + (perf_counter() - start) * 1000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one refresh; `refreshed` is False where nothing had changed."""

    pgt_id: int
    name: str
    refreshed: bool
    refresh_id: UUID | None
    refresh_number: int | None
    mode: str | None
    gear: str | None
    reason: str | None
    rows_in: int
    rows_out: int
    phases: dict[str, float]
    error: RunnelError | None = None

    @property
    def duration_ms(self) -> float:
        return sum(self.phases.values())


def outcome_of(attempt: Attempt) -> Outcome:
    return Outcome(
        pgt_id=attempt.table.pgt_id,
        name=attempt.name,
        refreshed=attempt.number is not None,
        refresh_id=attempt.refresh_id,
        refresh_number=attempt.number,
        mode=attempt.mode,
        gear=attempt.gear,
        reason=attempt.reason,
        rows_in=attempt.rows_in,
        rows_out=attempt.rows_out,
        phases=dict(attempt.phases),
        error=attempt.error,
    )


def unchanged(table: StreamTable) -> Outcome:
    return Outcome(
        table.pgt_id, table.qualified_name, False, None, table.refresh_number, None, None, None, 0, 0, {}
    )
