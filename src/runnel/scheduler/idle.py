"""One query that tells which stream tables have anything new to read: no Spark job, no lock, no record.

It has one branch for each change log and each lake, and its text stays the same while these do, so that
PostgreSQL plans it once. The two conditions on `xid` are asked one by one: each is one step into the index.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from psycopg import sql

from runnel.catalog.client import Dependency, Lake, StreamTable
from runnel.catalog.connection import Connection

_TABLE = """
SELECT t.pgt_id, NULL::bigint, NULL::bigint
FROM pgtrickle.pgt_dependencies d JOIN pgtrickle.pgt_stream_tables t USING (pgt_id)
WHERE d.capture_id = {capture} AND t.pgt_id = ANY (%(wanted)s) AND t.is_populated AND (
    EXISTS (SELECT FROM {log} AS c WHERE c.xid >= pg_snapshot_xmax(t.frontier))
    OR EXISTS (SELECT FROM {log} AS c WHERE c.xid = ANY (ARRAY(SELECT pg_snapshot_xip(t.frontier)))))"""
_STREAM = """
SELECT d.pgt_id, NULL::bigint, NULL::bigint
FROM pgtrickle.pgt_dependencies d
WHERE d.upstream_id = {upstream} AND d.pgt_id = ANY (%(wanted)s)
  AND EXISTS (SELECT FROM {log} AS c WHERE c.refresh_number > d.consumed)"""
_LAKE = "\nSELECT NULL::bigint, {lake}::bigint, (SELECT max(snapshot_id) FROM {snapshots})"


def plan_for_looking(conn: Connection) -> None:
    """A log that has just grown has no statistics, and would be read whole for each stream table."""
    conn.execute("SET enable_seqscan = off")
    conn.execute("SET jit = off")


@dataclass(slots=True)
class IdleCheck:
    """The query for the stream tables of now, and up to which snapshot of its lakes each was looked at."""

    tables: Mapping[int, StreamTable]
    lakes: Mapping[int, Lake]
    seen: dict[tuple[int, int], int] = field(default_factory=dict)
    _query: sql.Composed | None = None

    def __post_init__(self) -> None:
        found = (self._branch(d) for table in self.tables.values() for d in table.dependencies)
        branches = {branch.as_string(None): branch for branch in found if branch is not None}
        if branches:
            self._query = sql.SQL("\nUNION ALL").join(branches[text] for text in sorted(branches))

    def changed(self, conn: Connection, wanted: Collection[int]) -> set[int]:
        """Of the wanted ones, those that have something new to read, or were never filled."""
        found = {pgt_id for pgt_id in wanted if not self.tables[pgt_id].is_populated}
        asked = sorted(set(wanted) - found)
        if self._query is None or not asked:
            return found
        newest: dict[int, int] = {}
        for pgt_id, lake_id, snapshot in conn.execute(self._query, {"wanted": asked}, prepare=True):
            if lake_id is None:
                found.add(pgt_id)
            else:
                newest[lake_id] = snapshot or 0
        return found | {pgt_id for pgt_id in asked if self._has_new_snapshot(pgt_id, newest)}

    def forget(self, pgt_id: int) -> None:
        """Its lakes have to be looked at again: the refresh that should have done so failed."""
        for place in [place for place in self.seen if place[0] == pgt_id]:
            del self.seen[place]

    def _has_new_snapshot(self, pgt_id: int, newest: Mapping[int, int]) -> bool:
        """A lake's newest snapshot need not be about this table: each is looked at once."""
        found = False
        for dependency in self.tables[pgt_id].dependencies:
            if dependency.lake_id is None or dependency.lake_id not in newest:
                continue
            place, snapshot = (pgt_id, dependency.lake_id), newest[dependency.lake_id]
            if snapshot > max(dependency.consumed or 0, self.seen.get(place, 0)):
                self.seen[place] = snapshot
                found = True
        return found

    def _branch(self, dependency: Dependency) -> sql.Composed | None:
        match dependency.kind:
            case "table":
                capture = dependency.capture_id
                log = sql.Identifier("pgtrickle_changes", f"changes_{capture}")
                return sql.SQL(_TABLE).format(capture=sql.Literal(capture), log=log)
            case "stream":
                upstream = dependency.upstream_id
                if upstream is None or not self.tables[upstream].is_populated:
                    return None
                log = sql.Identifier("pgtrickle_changes", f"stream_{upstream}")
                return sql.SQL(_STREAM).format(upstream=sql.Literal(upstream), log=log)
            case "lake":
                lake = self.lakes.get(dependency.lake_id or 0)
                if lake is None:
                    return None
                snapshots = sql.Identifier(lake.metadata_schema, "ducklake_snapshot")
                return sql.SQL(_LAKE).format(lake=sql.Literal(lake.lake_id), snapshots=snapshots)
