"""The cases of `cases.py`, in one batch and split over refreshes, in both gears.

All of them share a database and its rounds: a case is one schema, and a round costs little more than one case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg import sql
from pyspark.sql import SparkSession
from tests.oracle.equality import difference
from tests.rules.cases import CASES, Case

from runnel.delta import Gear
from runnel.refresh.model import Options
from runnel.refresh.round import Refresher

VARIANTS = ("in one batch", "split over refreshes", "in one batch, second gear")


@dataclass(slots=True)
class Running:
    """A case in its schema, and what was wrong with it."""

    case: Case
    schema: str
    conn: psycopg.Connection[Any]
    batches: list[tuple[str, ...]]
    ids: dict[int, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def create(self) -> None:
        self.conn.execute(f'CREATE SCHEMA "{self.schema}"'.encode())
        self._enter()
        self.conn.execute(self.case.setup.encode())
        for number, query in enumerate(self.case.streams, 1):
            self.conn.execute("SELECT pgtrickle.create_stream_table(%s, %s)", [f"s{number}", query])
            row = self.conn.execute(
                "SELECT pgt_id FROM pgtrickle.pgt_stream_tables WHERE relid = %s::regclass", [f"s{number}"]
            ).fetchone()
            assert row is not None
            self.ids[row[0]] = f"s{number}"

    def step(self) -> None:
        self._enter()
        for statement in self.batches.pop(0) if self.batches else ():
            self.conn.execute(statement.encode())

    def check(self, when: str) -> None:
        self._enter()
        for number, query in enumerate(self.case.streams, 1):
            found = difference(self.conn, sql.Identifier(self.schema, f"s{number}"), sql.SQL(query))  # type: ignore[arg-type]
            if found:
                self.wrong.append(f"{when}: {query}\n{found}")

    def check_modes(self) -> None:
        """FULL only where the case says so, to be filled, or after a TRUNCATE."""
        rows = self.conn.execute(
            "SELECT pgt_id, h.reason FROM pgtrickle.pgt_refresh_history AS h WHERE pgt_id = ANY(%s)"
            " AND mode = 'FULL' AND h.reason NOT IN ('first fill', 'a source was truncated')",
            [list(self.ids)],
        ).fetchall()
        ran_full = {
            number
            for number, name in enumerate(self.ids.values(), 1)
            if name in {self.ids[r[0]] for r in rows}
        }
        if ran_full != set(self.case.full):
            self.wrong.append(f"ran FULL: {sorted(ran_full)} {rows}")

    def _enter(self) -> None:
        self.conn.execute(f'SET search_path = "{self.schema}"'.encode())
        self.conn.execute("SET timezone = 'Europe/Berlin'")


class Cases:
    """All cases in all variants, run once."""

    def __init__(self, dsn: str, spark: SparkSession) -> None:
        self.conn = psycopg.connect(dsn, autocommit=True)
        self.refresher = Refresher(dsn, spark)
        self.running: dict[tuple[str, str], Running] = {}
        for variant in VARIANTS:
            for case in CASES:
                batches = [(step,) for step in case.steps] if variant == VARIANTS[1] else [case.steps]
                schema = f"{CASES.index(case)}_{VARIANTS.index(variant)}"
                self.running[case.name, variant] = Running(case, schema, self.conn, batches)

    def run(self) -> None:
        for one in self.running.values():
            one.create()
        self._round(VARIANTS, "after the fill", None)
        for number in range(max(len(case.steps) for case in CASES)):
            self._round(VARIANTS[:2], f"after step {number}", None)
        self._round(VARIANTS[2:], "after all steps", "second")
        for one in self.running.values():
            one.check_modes()

    def _round(self, variants: tuple[str, ...], when: str, gear: Gear | None) -> None:
        self.refresher.options = Options(gear=gear)
        running = [one for (_, variant), one in self.running.items() if variant in variants]
        if when != "after the fill":
            running = [one for one in running if one.batches]
            for one in running:
                one.step()
        outcomes = self.refresher.refresh([number for one in running for number in one.ids])
        failed = {outcome.pgt_id: str(outcome.error) for outcome in outcomes if outcome.error}
        for one in running:
            one.wrong += [f"{when}, {one.ids[n]}: {text}" for n, text in failed.items() if n in one.ids]
            one.check(when)


@pytest.fixture(scope="module")
def cases(shared_db: str, spark: SparkSession) -> Iterator[Cases]:
    found = Cases(shared_db, spark)
    found.run()
    yield found
    found.refresher.close()
    found.conn.close()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("case", [case.name for case in CASES])
def test_case(cases: Cases, case: str, variant: str) -> None:
    wrong = cases.running[case, variant].wrong
    assert not wrong, "\n".join(wrong)
