"""A DuckLake table as a versioned relation: its versions are snapshot ids, its changes the lake's own feed.

Which files hold a range is listed once, by whoever binds the relation, on a connection that sees one state of the
catalog; the reads are then files and inlined rows that tasks anywhere can open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from runnel.algebra import Leaf
from runnel.errors import InternalError
from runnel.lake import duck
from runnel.lake.changes import ChangeTask
from runnel.lake.files import ScanTask
from runnel.relations.read import Connections, Parameter, Read
from runnel.relations.sql import WEIGHT, quote, select_leaf

# PostgreSQL's name for what DuckDB spells by hand: a decimal's text without trailing zeros.
_TRIM_SCALE = (
    "CREATE OR REPLACE TEMP MACRO trim_scale(x) AS CASE WHEN contains(x::VARCHAR, '.')"
    " THEN rtrim(rtrim(x::VARCHAR, '0'), '.') ELSE x::VARCHAR END"
)


@dataclass(frozen=True, slots=True)
class LakeRead:
    """One file's rows or changes as the leaf wants them; `keys` restricts them to some join keys."""

    task: ScanTask | ChangeTask
    leaf: Leaf
    keys: tuple[Parameter, ...] = ()

    def batches(self, connections: Connections) -> Iterator[pa.RecordBatch]:
        names = [column.name for column in self.leaf.used]
        weight = "w" if isinstance(self.task, ChangeTask) else "1"
        fields = [*(quote(name) for name in names), f"{weight}::BIGINT AS {WEIGHT}"]
        sql = select_leaf(self.leaf, f"(SELECT {', '.join(fields)} FROM lake_rows)", *self._conditions())
        session = duck.cursor()
        try:
            session.execute(_TRIM_SCALE)
            for number, values in enumerate(self.keys):
                session.register(f"keys{number}", pa.table({"k": pa.array(values)}))
            for batch in self.task.read(names or [self.task_column]):
                session.register("lake_rows", pa.Table.from_batches([batch]))
                yield from session.execute(sql).to_arrow_table().to_batches()
        finally:
            session.close()

    @property
    def task_column(self) -> str:
        """Some column, for a leaf that only counts rows."""
        return self.leaf.source.columns[0].name

    def _conditions(self) -> list[str]:
        return [
            f"{key.sql} IN (SELECT k FROM keys{number})"
            for number, key in enumerate(self.leaf.keys[: len(self.keys)])
        ]


@dataclass(frozen=True, slots=True)
class LakeTable:
    """The scan at snapshot `upto`, and the changes after snapshot `after` up to it."""

    upto: int
    scans: tuple[ScanTask, ...] = ()
    after: int | None = None
    changed: tuple[ChangeTask, ...] = ()

    def changes(self, leaf: Leaf, after: int, upto: int, parts: int = 1) -> list[Read]:
        if (after, upto) != (self.after, self.upto):
            raise InternalError(f"the lake's changes were listed for another range than {after} to {upto}")
        return [LakeRead(task, leaf) for task in self.changed]

    def rows(self, leaf: Leaf, at: int, keys: tuple[Parameter, ...]) -> Read:
        return Together(tuple(LakeRead(task, leaf, keys) for task in self._scans(at)))

    def scan(self, leaf: Leaf, at: int, parts: int = 1) -> list[Read]:
        return [LakeRead(task, leaf) for task in self._scans(at)]

    def _scans(self, at: int) -> tuple[ScanTask, ...]:
        if at != self.upto:
            raise InternalError(f"the lake's files were listed for another snapshot than {at}")
        return self.scans


@dataclass(frozen=True, slots=True)
class Together:
    """Several reads, one after the other."""

    reads: tuple[LakeRead, ...]

    def batches(self, connections: Connections) -> Iterator[pa.RecordBatch]:
        for read in self.reads:
            yield from read.batches(connections)
