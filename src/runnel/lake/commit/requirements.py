"""What must hold under the claim for a commit to be right; each requirement checks itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from runnel.errors import SchemaError, TransientError
from runnel.lake.commit.claim import Claim
from runnel.lake.spec import Table

_LAYOUT = {"dropped_table", "altered_table"}
_DELETES = {"deleted_from_table", "inlined_delete"}
_INSERTS = {"inserted_into_table", "inlined_insert"}
_REWRITES = {"merge_adjacent", "rewrite_delete", "inline_flush"}

# My kind of change, and the kinds of others since my base that it cannot stand beside.
_CONFLICTS: dict[str, set[str]] = {
    "inserted_into_table": _LAYOUT | _DELETES,
    "deleted_from_table": _LAYOUT | _REWRITES | _INSERTS | _DELETES,
    "altered_table": _LAYOUT,
    "dropped_table": {"dropped_table"},
}


class Requirement(Protocol):
    def check(self, claim: Claim) -> None:
        """Raises where it does not hold: a TransientError where trying again on a new base may help."""


@dataclass(frozen=True, slots=True)
class SameTable:
    """The table still is the one that was read, with the same columns."""

    table: Table

    def check(self, claim: Claim) -> None:
        current = claim.catalog.find_by_uuid(claim.conn, self.table.uuid, claim.snapshot_id)
        if current is None:
            raise SchemaError(
                f"the lake table {self.table.name} was dropped or replaced",
                hint="read the table again and write its files anew",
            )
        if current.columns != self.table.columns:
            raise SchemaError(
                f"the columns of the lake table {self.table.name} have changed",
                hint="read the table again and write its files anew",
            )


@dataclass(frozen=True, slots=True)
class NoConflict:
    """Nobody has changed the table since the snapshot `since` in a way that `mine` cannot stand beside.

    For work that was computed from the table's content at `since`; a plain append has no need of it.
    """

    table: Table
    since: int
    mine: str = "deleted_from_table"

    def check(self, claim: Claim) -> None:
        upto = claim.snapshot_id - 1
        changes = claim.catalog.changes(claim.conn, self.since, upto)
        if len(changes) != upto - self.since:
            raise TransientError(
                f"a commit since snapshot {self.since} does not say what it changed in {self.table.name}"
            )
        for snapshot_id, tokens in changes.items():
            for kind, subject in tokens:
                if subject == str(self.table.table_id) and kind in _CONFLICTS[self.mine]:
                    raise TransientError(
                        f"the lake table {self.table.name} was changed meanwhile",
                        detail=f"snapshot {snapshot_id}: {kind}",
                        hint="read it again and repeat the work on the newer snapshot",
                    )
