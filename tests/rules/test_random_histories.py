"""Random histories with PostgreSQL as the oracle: after each refresh a stream table is its query.

Seeds are fixed in CI. `make fuzz` draws new ones until something fails, and prints the shrunk history.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from tests.conftest import tell
from tests.oracle.coverage import GEARS, Coverage
from tests.oracle.histories import History, make_history
from tests.oracle.shrink import shrink
from tests.oracle.values import TYPES
from tests.oracle.world import Failure, World

from runnel.delta import Gear
from runnel.refresh.model import Options
from runnel.refresh.round import Refresher

FIRST, SECOND, TOGETHER = 200, 40, 20
_FUZZ = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"

# Seen in compared differential refreshes at least so often, in each gear.
_LEAST = {"first": 200, "second": 30}
_OPERATORS = frozenset(
    [
        "bag",
        "scan",
        "join",
        "self-join",
        "using",
        "several keys",
        "cross-type key",
        "condition over both",
        "filter",
        "could raise",
        "expression",
        "expression over both",
        "group",
        "global",
        "having",
        "filter clause",
        "expression over aggregates",
        "count",
        "count(*)",
        "count distinct",
        "sum",
        "avg",
        "min",
        "max",
    ]
)
_KINDS = frozenset(
    [
        "insert",
        "copy",
        "on conflict",
        "merge",
        "update",
        "update key",
        "update id",
        "update nothing",
        "swap",
        "delete",
    ]
)


def _starts(count: int, offset: int = 0) -> list[int]:
    if _FUZZ:
        return [secrets.randbits(40) for _ in range(2_000)]
    return list(range(offset, offset + count, TOGETHER))


@pytest.fixture(scope="module")
def coverage(request: pytest.FixtureRequest) -> Iterator[Coverage]:
    found = Coverage()
    yield found
    tell(request.config, found.report())


@pytest.fixture
def world(runnel_db: str, spark: SparkSession, coverage: Coverage) -> Iterator[World]:
    refresher = Refresher(runnel_db, spark)
    yield World(runnel_db, refresher, coverage)
    refresher.close()


def _check(world: World, histories: list[History], gear: Gear | None) -> None:
    world.refresher.options = Options(gear=gear)
    failures = world.run(histories)
    if not failures:
        return

    def alone(history: History) -> Failure | None:
        found = world.run([history])
        return found[0] if found else None

    shrunk = shrink(alone, failures[0], attempts=200 if _FUZZ else 25)
    others = "\n".join(f"also {failure.history.seed} {failure.stream}" for failure in failures[1:])
    pytest.fail(f"{shrunk}\n{others}", pytrace=False)


@pytest.mark.parametrize("start", _starts(FIRST))
def test_first_gear(world: World, start: int) -> None:
    _check(world, [make_history(start + i, steps=3, streams=4) for i in range(TOGETHER)], None)


@pytest.mark.parametrize("start", _starts(SECOND, 10_000))
def test_second_gear(world: World, start: int) -> None:
    _check(world, [make_history(start + i, steps=2, streams=2) for i in range(TOGETHER)], "second")


@pytest.mark.parametrize("gear", GEARS)
def test_covers_every_operator_type_and_kind(coverage: Coverage, gear: str) -> None:
    """After the histories: a generator that no longer makes what it should is a failure, too."""
    wanted = {"first": FIRST, "second": SECOND}[gear]
    assert coverage.histories[gear] >= wanted, "run the whole module: the histories come first"
    for place, names in enumerate((_OPERATORS, frozenset(TYPES), _KINDS)):
        counted = coverage.counted(place, gear)
        rare = {name: counted[name] for name in names if counted[name] < _LEAST[gear]}
        assert not rare
