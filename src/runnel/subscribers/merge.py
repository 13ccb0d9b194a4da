"""Merges the small files of a sink's log, by DuckDB itself: every file costs each reader a little.

In tiers: a file that has outgrown a tier is not rewritten with the next small ones, so each row is rewritten a
few times in its life, however long the log becomes. Files that were merged stay on disk for an hour, for readers
that have begun.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import duckdb

from runnel.lake import duck
from runnel.lake.create import attach_statements
from runnel.lake.spec import TableName, quote_text

MANY_FILES = 200
_TIERS = (1 << 20, 16 << 20, 256 << 20)  # bytes
_KEPT = "INTERVAL 1 HOUR"


@dataclass(slots=True)
class Merger:
    """Merges in a thread and a DuckDB of its own, one table at a time; nobody waits for it."""

    dsn: str
    lake_schema: str
    _thread: threading.Thread | None = None
    _connection: duckdb.DuckDBPyConnection | None = None
    _failure: str | None = field(default=None)

    @property
    def is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, table: TableName) -> None:
        """Begins to merge, unless it is merging; what it leaves is merged the next time."""
        if not self.is_busy:
            self._thread = threading.Thread(
                target=self._work, args=(table,), name="runnel-merging", daemon=True
            )
            self._thread.start()

    def merge(self, table: TableName) -> int:
        """How many tiers had enough files to be merged."""
        connection = self._attached()
        merged = 0
        for limit in _TIERS:
            merged += self._merge_tier(connection, table, limit)
        if merged:
            connection.execute(f"CALL ducklake_cleanup_old_files('lake', older_than => now() - {_KEPT})")
        return merged

    def close(self) -> None:
        if self._connection is not None:
            self._connection.interrupt()
        if self._thread is not None:
            self._thread.join(5)
        if self._connection is not None and not self.is_busy:
            self._connection.close()
            self._connection = None

    def _work(self, table: TableName) -> None:
        try:
            self.merge(table)
        except duckdb.Error as error:
            # a merge that fails costs readers a little time, and is tried again with the next files
            self._failure = str(error).splitlines()[0]

    def _merge_tier(self, connection: duckdb.DuckDBPyConnection, table: TableName, limit: int) -> bool:
        place = f"{quote_text(table.name)}, schema => {quote_text(table.schema)}"
        counted = connection.execute(
            f"SELECT count(*) FROM ducklake_list_files('lake', {place}) WHERE data_file_size_bytes < {limit}"
        ).fetchone()
        if counted is None or counted[0] < MANY_FILES:
            return False
        connection.execute(f"CALL ducklake_merge_adjacent_files('lake', {place}, max_file_size => {limit})")
        return True

    def _attached(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            connection = duck.connect(("postgres_scanner", "ducklake"), threads=1)
            for statement in attach_statements(self.dsn, self.lake_schema, "lake"):
                connection.execute(statement)
            self._connection = connection
        return self._connection
