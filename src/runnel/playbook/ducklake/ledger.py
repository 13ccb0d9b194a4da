"""What a loop has written already, so that a repeated task writes nothing twice.

The ledger is the lake itself: each commit carries the indices of its items in its extra info, so an item is
on record exactly when its rows are visible. Two attempts of one partition take turns by an advisory lock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from runnel.playbook.ducklake.pool import AUTHOR, Session
from runnel.playbook.ducklake.queries import query

_LOCK = "SELECT pg_advisory_lock(hashtextextended(%s, 0))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended(%s, 0))"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The record of one loop: `loop_id` names run, step and visit; `since` is the snapshot before it."""

    loop_id: str
    since: int

    @property
    def _prefix(self) -> str:
        return json.dumps({"loop": self.loop_id}, separators=(",", ":"))[:-1] + ","

    def entry(self, affected: Mapping[int, Sequence[int | None]]) -> str:
        """The extra info of a commit: per item how many rows each of its commands wrote."""
        items = json.dumps([[index, *counts] for index, counts in affected.items()], separators=(",", ":"))
        return f'{self._prefix}"items":{items}}}'

    def written(self, session: Session) -> dict[int, tuple[int | None, ...]]:
        rows = session.ask(
            query("written_items", session.lake.schema),
            {"since": self.since, "author": AUTHOR, "prefix": self._prefix},
        )
        return {index: tuple(counts) for (info,) in rows for index, *counts in json.loads(info)["items"]}

    @contextmanager
    def turn(self, session: Session, partition: int) -> Iterator[None]:
        """Only one attempt of a partition works at a time; a dead one's lock ends with its connection."""
        name = f"{self.loop_id}/{partition}"
        session.ask(_LOCK, (name,))
        try:
            yield
        finally:
            session.ask(_UNLOCK, (name,))
