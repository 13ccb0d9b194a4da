"""Moves the base of an append sink forward, so that its view stays as fast as it was on the first day.

The base becomes the result as of some refresh; the log loses nothing, and the view shows the same rows before
and after. A checkpoint costs one reading of the result, and is due when the log after the base has outgrown the
result, or has many files: the work per delta row stays the same for ever.
"""

from __future__ import annotations

from dataclasses import dataclass

from runnel.catalog.connection import Connection
from runnel.catalog.install import package_version
from runnel.errors import TransientError
from runnel.lake.commit import Commit, Overwrite, commit
from runnel.subscribers.layout import Layout
from runnel.subscribers.queries import run
from runnel.subscribers.read import ArrowReader
from runnel.subscribers.sink import Sink
from runnel.subscribers.steps import Files, based

_MANY_FILES = 50
_FEW_ROWS = 2_000


@dataclass(slots=True)
class Growth:
    """What a reader of the view reads: the base, and the log after it."""

    base_rows: int
    tail_files: int
    tail_rows: int
    log_files: int

    @property
    def needs_checkpoint(self) -> bool:
        is_long = self.tail_rows > max(self.base_rows, _FEW_ROWS)
        return is_long or (self.tail_files > _MANY_FILES and self.tail_rows * 10 > self.base_rows)

    def append(self, rows: int) -> None:
        self.tail_files += 1
        self.log_files += 1
        self.tail_rows += rows

    def reset(self, base_rows: int) -> None:
        self.base_rows, self.tail_files, self.tail_rows = base_rows, 0, 0


def measure_growth(conn: Connection, layout: Layout) -> Growth:
    """As the lake's catalog tells it, once for each layout; from then on it is counted."""
    if layout.is_new:
        return Growth(0, 0, 0, 0)
    with conn.transaction():
        at = layout.catalog.newest(conn).snapshot_id
        base = layout.catalog.files(conn, layout.tables["base"], at)
        log = layout.catalog.files(conn, layout.tables["log"], at)
    since = max((file.begin_snapshot for file in base), default=0)
    tail = [file for file in log if max(file.begin_snapshot, file.partial_max or 0) > since]
    return Growth(
        sum(file.record_count for file in base), len(tail), sum(file.record_count for file in tail), len(log)
    )


def make_checkpoint(conn: Connection, reader: ArrowReader, sink: Sink, layout: Layout) -> tuple[int, int]:
    """The snapshot in which the base is the newest result, and the rows of that result."""
    number, rows = reader.content(sink, layout.columns)
    files = Files(layout)
    try:
        overwrite = Overwrite(*files.write("base", based(rows, number)))
        with conn.transaction():
            if not run(conn, "has_published", id=sink.pgt_id, number=number):
                raise TransientError(f"{sink.title} was refreshed meanwhile, its checkpoint comes later")
            made = commit(
                conn,
                layout.catalog,
                lambda *_: Commit((overwrite,)),
                author=f"pg_trickle/{package_version()}/stream_table/{sink.title}",
                message=f"checkpoint of {sink.title} at refresh {number}",
            )
    except TransientError:
        files.remove()
        raise
    return made.snapshot_id, rows.num_rows
