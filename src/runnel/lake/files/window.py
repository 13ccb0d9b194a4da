"""Which rows a reader wants: those of one snapshot, or those that differ between two."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """The rows alive at `upto`, or, with `after`, those that are alive at one of the two only."""

    upto: int
    after: int | None = None

    def condition(self, begun: str = "begun", ended: str = "ended") -> str:
        at_end = _alive(self.upto, begun, ended)
        return at_end if self.after is None else f"{at_end} <> {_alive(self.after, begun, ended)}"

    def weight(self, begun: str = "begun", ended: str = "ended") -> str:
        """+1 for a row that is alive at the end, −1 for one that is not any more."""
        return (
            "1" if self.after is None else f"CASE WHEN {_alive(self.upto, begun, ended)} THEN 1 ELSE -1 END"
        )


def _alive(at: int, begun: str, ended: str) -> str:
    return f"({begun} <= {at} AND ({ended} IS NULL OR {ended} > {at}))"
