"""What one publication will commit, as data: files are written, nothing is known to the lake yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from runnel.errors import TransientError
from runnel.lake import objects
from runnel.lake.commit import Append, Change, Overwrite
from runnel.lake.files import WrittenFile, write_file
from runnel.lake.spec import Table
from runnel.subscribers.layout import Layout
from runnel.subscribers.read import Delta
from runnel.subscribers.sink import Refresh


@dataclass(frozen=True, slots=True)
class Step:
    """One snapshot of the lake: one refresh, or the newest of several."""

    refresh: Refresh
    changes: tuple[Change, ...]
    rows: int


@dataclass(slots=True)
class Files:
    """The files that an attempt has written, to be removed if it does not commit."""

    layout: Layout
    _written: list[str] = field(default_factory=list)

    def write(self, role: str, rows: pa.Table) -> tuple[Table, tuple[WrittenFile, ...]]:
        table = self.layout.tables[role]
        if not rows.num_rows:
            return table, ()
        file = write_file(table.directory, rows, table.columns, self.layout.options)
        self._written.append(objects.join(table.directory, file.path))
        return table, (file,)

    def remove(self) -> None:
        for path in self._written:
            objects.remove(path)


def delta_steps(files: Files, refreshes: Iterable[Refresh], delta: Delta) -> list[Step]:
    """Every refresh with changes becomes a snapshot of its own; the first one of a sink in any case."""
    steps: list[Step] = []
    creation = _creation(files, delta.rows)
    for refresh, rows, weights in split(refreshes, delta):
        if rows.num_rows or creation:
            append = Append(*files.write("log", logged(rows, weights, refresh)))
            steps.append(Step(refresh, (*creation, append), rows.num_rows))
            creation = ()
    return steps


def split(refreshes: Iterable[Refresh], delta: Delta) -> Iterator[tuple[Refresh, pa.Table, pa.ChunkedArray]]:
    """The logged rows of each refresh; they are in the refreshes' order."""
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(delta.numbers).to_pylist()}
    start = 0
    for refresh in refreshes:
        count = counts.get(refresh.number, 0)
        yield refresh, delta.rows.slice(start, count), delta.weights.slice(start, count)
        start += count


def is_complete(refreshes: list[Refresh], delta: Delta, after: int, upto: int) -> bool:
    """Whether the log holds all that history says: it is written only while somebody subscribes."""
    if [refresh.number for refresh in refreshes] != list(range(after + 1, upto + 1)):
        return False
    return all(
        (pc.sum(pc.abs(weights)).as_py() or 0) == refresh.rows_out
        for refresh, _, weights in split(refreshes, delta)
    )


def content_step(files: Files, refresh: Refresh | None, rows: pa.Table) -> Step:
    """The whole result as one snapshot, where a log cannot tell how it came about."""
    if refresh is None:
        raise TransientError("the newest refresh is not in history yet")
    creation = _creation(files, rows)
    changes: list[Change]
    if "data" in files.layout.tables:
        changes = [Overwrite(*files.write("data", rows))]
    elif files.layout.is_new:
        inserts = pa.chunked_array([pa.nulls(rows.num_rows, pa.int64()).fill_null(1)])
        changes = [Append(*files.write("log", logged(rows, inserts, refresh)))]
    else:
        changes = [Overwrite(*files.write("base", based(rows, refresh.number)))]
    return Step(refresh, (*creation, *changes), rows.num_rows)


def _creation(files: Files, rows: pa.Table) -> tuple[Change, ...]:
    """A new base is of no refresh; it has a file all the same, without which scanning it is slow."""
    creation = files.layout.creation()
    if files.layout.is_new and "base" in files.layout.tables:
        creation += (Append(*files.write("base", based(rows.slice(0, 0), 0))),)
    return creation


def logged(rows: pa.Table, weights: pa.ChunkedArray, refresh: Refresh) -> pa.Table:
    """Rows as the log keeps them."""
    length = rows.num_rows
    extra = [
        pc.if_else(pc.greater(weights, 0), "insert", "delete"),
        weights,
        _repeated(refresh.number, pa.int64(), length),
        _repeated(str(refresh.refresh_id), pa.string(), length),
        _repeated(refresh.started_at, pa.timestamp("us", "UTC"), length),
    ]
    return _with(rows, extra)


def based(rows: pa.Table, number: int) -> pa.Table:
    """Rows as the base keeps them, and the one row that says which refresh they are of."""
    length = rows.num_rows
    kept = _with(rows, [_repeated(1, pa.int64(), length), _repeated(number, pa.int64(), length)])
    nothing = rows.schema.empty_table()
    marker = [pa.nulls(1, column.type) for column in nothing.columns]
    marker += [_repeated(0, pa.int64(), 1), _repeated(number, pa.int64(), 1)]
    return pa.concat_tables([kept, pa.Table.from_arrays(marker, schema=kept.schema)])


def _repeated(value: object, type_: pa.DataType, length: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, type_), length)


def _with(rows: pa.Table, extra: list[pa.Array]) -> pa.Table:
    arrays = [*rows.columns, *extra]
    return pa.Table.from_arrays(arrays, names=[f"c{i}" for i in range(1, len(arrays) + 1)])
