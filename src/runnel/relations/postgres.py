"""A PostgreSQL table as a versioned relation: its versions are snapshots, its changes a typed log.

A log row carries the transaction that wrote it. The changes between two snapshots are the rows whose transaction
is visible in the new one and was not in the old one; the condition is written so that an index finds them, also
beside a transaction that is open for hours.
"""

from __future__ import annotations

from dataclasses import dataclass

from runnel.algebra import Leaf
from runnel.relations.read import Parameter, PostgresRead, Read, Reader
from runnel.relations.sql import key_condition, logged, select_leaf

NEW_ROWS = (
    "(xid >= pg_snapshot_xmax($1::pg_snapshot) OR xid = ANY(array(SELECT pg_snapshot_xip($1::pg_snapshot))))"
    " AND pg_visible_in_snapshot(xid, $2::pg_snapshot) AND w <> 0"
)


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """A captured table; `pages` is its size, by which a scan is cut into ranges."""

    reader: Reader
    capture_id: int
    pages: int = 0

    def changes(self, leaf: Leaf, after: str, upto: str, parts: int = 1) -> list[Read]:
        log = f"pgtrickle_changes.changes_{self.capture_id}"
        sql = select_leaf(leaf, logged(leaf, log, NEW_ROWS))
        return [PostgresRead(self.reader, sql, (after, upto))]

    def rows(self, leaf: Leaf, at: str, keys: tuple[Parameter, ...]) -> PostgresRead:
        sql = select_leaf(leaf, leaf.source.name, key_condition(leaf), weight="1::bigint")
        return PostgresRead(self.reader, sql, keys)

    def scan(self, leaf: Leaf, at: str, parts: int = 1) -> list[Read]:
        alias = leaf.source.alias
        bounds = [self.pages * i // parts for i in range(parts)]
        reads: list[Read] = []
        for low, high in zip(bounds, [*bounds[1:], None], strict=True):
            conditions = [f"{alias}.ctid >= $1::tid"]
            parameters: tuple[Parameter, ...] = (f"({low},0)",)
            if high is not None:
                conditions.append(f"{alias}.ctid < $2::tid")
                parameters = (*parameters, f"({high},0)")
            sql = select_leaf(leaf, leaf.source.name, *conditions, weight="1::bigint")
            reads.append(PostgresRead(self.reader, sql, parameters))
        return reads
