"""Makes a failing history small enough to read: fewer stream tables, fewer statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from tests.oracle.histories import History, Step
from tests.oracle.world import Failure


class Runs(Protocol):
    """Runs one history alone; the first failure, or None."""

    def __call__(self, history: History) -> Failure | None: ...


def shrink(run: Runs, failure: Failure, attempts: int = 40) -> Failure:
    """Greedily takes away what the failure does not need."""
    best = failure
    alone = run(failure.history.only(failure.stream))
    if alone is None:
        return best
    best, left = alone, attempts
    progress = True
    while progress and left > 0:
        progress = False
        for smaller in _smaller(best.history):
            if left <= 0:
                break
            left -= 1
            found = run(smaller)
            if found is not None:
                best, progress = found, True
                break
    return best


def _smaller(history: History) -> Iterator[History]:
    steps = history.steps
    for i in range(len(steps)):
        yield replace(history, steps=steps[:i] + steps[i + 1 :])
    for i, step in enumerate(steps):
        half = len(step.actions) // 2
        for actions in (step.actions[:half], step.actions[half:]) if half else ():
            yield replace(history, steps=(*steps[:i], Step(actions, step.refreshed), *steps[i + 1 :]))
    for i, step in enumerate(steps):
        for j in range(len(step.actions)):
            actions = step.actions[:j] + step.actions[j + 1 :]
            yield replace(history, steps=(*steps[:i], Step(actions, step.refreshed), *steps[i + 1 :]))
    for i in range(len(history.filled)):
        yield replace(history, filled=history.filled[:i] + history.filled[i + 1 :])
