"""What a snapshot in the making knows: its base, the ids it may give, what it has changed so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from runnel.lake.catalog import Connection, LakeCatalog
from runnel.lake.spec import Snapshot, describe_change


@dataclass(slots=True)
class IdAllocator:
    """Gives the ids that follow those of the base; what it gave is written with the snapshot."""

    snapshot_id: int
    next_catalog_id: int
    next_file_id: int

    def catalog_id(self) -> int:
        """An id for a schema, a table or a view."""
        self.next_catalog_id += 1
        return self.next_catalog_id - 1

    def file_id(self) -> int:
        """An id for a data file or a delete file."""
        self.next_file_id += 1
        return self.next_file_id - 1


@dataclass(slots=True)
class Claim:
    """A snapshot in the making; nobody else commits to this lake until the transaction ends."""

    conn: Connection
    catalog: LakeCatalog
    base: Snapshot
    taken_at: datetime
    ids: IdAllocator
    changes: list[str] = field(default_factory=list)
    is_schema_change: bool = False

    @property
    def snapshot_id(self) -> int:
        return self.ids.snapshot_id

    @property
    def schema_version(self) -> int:
        return self.base.schema_version + self.is_schema_change

    def log(self, kind: str, subject: int | tuple[str, ...]) -> None:
        token = describe_change(kind, subject)
        if token not in self.changes:
            self.changes.append(token)

    def run(self, query: str, **parameters: object) -> list[Any]:
        return self.catalog.run(self.conn, query, snapshot=self.snapshot_id, **parameters)
