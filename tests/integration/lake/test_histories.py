"""Random histories that DuckDB and we write together; every snapshot and every range must be DuckDB's."""

from __future__ import annotations

import random
from itertools import combinations, pairwise

import duckdb
import pyarrow as pa
import pytest
from tests.integration.lake.judge import Lake, Rows, judged_changes, judged_scan, plus

from runnel.errors import SchemaError
from runnel.lake.commit import Append, Overwrite
from runnel.lake.files import write_file

_COLUMNS = (
    "id INTEGER, name VARCHAR, amount DECIMAL(10,2), seen TIMESTAMPTZ, day DATE, raw BLOB, ratio DOUBLE, "
    "is_on BOOLEAN, tags VARCHAR[], origin STRUCT(x INTEGER, y VARCHAR)"
)
_ROW = (
    "({0} + i)::INTEGER, CASE WHEN i % 7 = 3 THEN NULL ELSE 'n' || ({0} + i) % 11 END, "
    "(i * 1.25)::DECIMAL(10,2), '2024-01-01 00:00:00+00'::TIMESTAMPTZ + i * INTERVAL '1 hour', "
    "DATE '2024-01-01' + i::INTEGER, ('b' || i)::BLOB, i / 3.0, i % 2 = 0, ['t' || i, NULL], "
    "{{'x': i::INTEGER, 'y': 'y' || i}}"
)

_NAMES = ("id", "name", "amount", "seen", "day", "raw", "ratio", "is_on", "tags", "origin")
_ADDED = (
    "INTEGER DEFAULT 7",
    "VARCHAR DEFAULT 'it''s'",
    "DECIMAL(8,3)",
    "DECIMAL(8,3) DEFAULT 1.5",
    "TIMESTAMPTZ DEFAULT '2024-02-03 04:05:06.789+00'",
    "DATE DEFAULT '2024-02-03'",
    "BLOB DEFAULT '\\xAA\\x01b'",
    "BOOLEAN DEFAULT 'true'",
    "DOUBLE DEFAULT 0.1",
)


class History:
    """One table that is changed at random, by one statement of DuckDB or one commit of ours a step."""

    def __init__(self, lake: Lake, judge: duckdb.DuckDBPyConnection, seed: int) -> None:
        self.lake, self.judge, self.random, self.next_id = lake, judge, random.Random(seed), 0
        judge.execute(f"CREATE TABLE t ({_COLUMNS})")

    def step(self) -> None:
        writes = [self.insert, self.insert_many, self.delete, self.update, self.mixed, self.overwrite]
        upkeep = [self.flush, self.merge, self.rewrite, self.inlining]
        self.random.choice([self.insert, self.delete, self.append, *writes, *upkeep])()

    def insert(self, count: int | None = None) -> None:
        count = count or self.random.randint(1, 6)
        row = _ROW.format(self.next_id)
        self.judge.execute(f"INSERT INTO t SELECT {row} FROM range({count}) r(i)")
        self.next_id += count

    def insert_many(self) -> None:
        self.insert(self.random.randint(15, 40))

    def delete(self) -> None:
        self.judge.execute(f"DELETE FROM t WHERE {self._some()}")

    def update(self) -> None:
        self.judge.execute(f"UPDATE t SET amount = amount + 1, name = 'u' WHERE {self._some()}")

    def mixed(self) -> None:
        self.judge.execute("BEGIN")
        self.insert()
        self.delete()
        self.update()
        self.judge.execute("COMMIT")

    def append(self) -> None:
        table = self.lake.table("t")
        self.lake.commit(Append(table, (write_file(table.directory, self._rows(), table.columns),)))

    def overwrite(self) -> None:
        if self.random.random() < 0.3:
            table = self.lake.table("t")
            self.lake.commit(Overwrite(table, (write_file(table.directory, self._rows(), table.columns),)))

    def flush(self) -> None:
        self.judge.execute("CALL ducklake_flush_inlined_data('lake')")

    def merge(self) -> None:
        self.judge.execute("CALL ducklake_merge_adjacent_files('lake')")

    def rewrite(self) -> None:
        self.judge.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)")

    def inlining(self) -> None:
        self.judge.execute(
            f"CALL lake.set_option('data_inlining_row_limit', {self.random.choice([0, 10, 30])})"
        )

    def _some(self) -> str:
        modulus = self.random.choice([2, 3, 5, 20])
        remainder, low = self.random.randrange(modulus), self.random.randint(-9, self.next_id)
        return f"id % {modulus} = {remainder} AND id > {low}"

    def _rows(self) -> pa.Table:
        count = self.random.randint(1, 9)
        row = _ROW.format(self.next_id)
        self.next_id += count
        found = duckdb.sql(f"SET TimeZone = 'UTC'; SELECT {row} FROM range({count}) r(i)").to_arrow_table()
        return found.rename_columns(list(_NAMES))


class AlteredHistory(History):
    """The same beside changes of the table's columns."""

    alterations = 0

    def step(self) -> None:
        if self.random.random() < 0.3:
            self.alter()
        else:
            super().step()

    def alter(self) -> None:
        names = [row[0] for row in self.judge.execute("DESCRIBE t").fetchall()]
        extra = [name for name in names if name.startswith("x")]
        self.alterations += 1
        new = f"x{self.alterations}"
        choices = [f"ADD COLUMN {new} {self.random.choice(_ADDED)}"]
        choices += [f"DROP COLUMN {name}" for name in extra]
        choices += [f"RENAME COLUMN {name} TO {new}" for name in extra]
        choices += ["ALTER COLUMN id TYPE BIGINT"]
        self.judge.execute(f"ALTER TABLE t {self.random.choice(choices)}")

    def insert(self, count: int | None = None) -> None:
        count = count or self.random.randint(1, 6)
        row, names = _ROW.format(self.next_id), ", ".join(_NAMES)
        self.judge.execute(f"INSERT INTO t ({names}) SELECT {row} FROM range({count}) r(i)")
        self.next_id += count

    def append(self) -> None:
        self.insert_many()

    def overwrite(self) -> None:
        self.insert_many()


def newest(judge: duckdb.DuckDBPyConnection) -> int:
    found = judge.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchall()
    return int(found[0][0])


def repeats_rows(judged: Rows) -> bool:
    """DuckDB reads a file twice that has two delete files: one ended by a rewrite, one of a later flush."""
    return max(judged.values(), default=0) > 1


@pytest.mark.parametrize("seed", [0, 1, 2, 106])
def test_every_snapshot_and_every_range_is_as_duckdb_sees_it(
    lake: Lake, judge: duckdb.DuckDBPyConnection, seed: int
) -> None:
    check_history(lake, judge, seed)


def check_history(lake: Lake, judge: duckdb.DuckDBPyConnection, seed: int) -> None:
    history = History(lake, judge, seed)
    table, start = lake.table("t"), newest(judge)
    for _ in range(16):
        history.step()
    fresh = lake.attach()
    snapshots = range(start, newest(fresh) + 1)
    scans = {}
    for at in snapshots:
        ours = lake.scan(table, at, identity=True, remote=at % 2 == 0)
        judged = judged_scan(fresh, "t", at, identity=True)
        assert ours == judged or repeats_rows(judged), at
        scans[at] = lake.scan(table, at)
    for after, upto in combinations(snapshots, 2):
        changes = lake.changes(table, after, upto, remote=after % 2 == 0)
        assert plus(scans[after], changes) == scans[upto], (after, upto)
        if history.random.random() < 0.1:
            judged = judged_changes(fresh, "t", after, upto)
            # DuckDB tells some deletes twice: those of a file that ended in the same transaction.
            is_sound = plus(scans[after], judged) == scans[upto]
            assert changes == judged or not is_sound, (after, upto)


@pytest.mark.parametrize("seed", [0, 1, 2, 106])
def test_altered_tables_read_as_duckdb_reads_them(
    lake: Lake, judge: duckdb.DuckDBPyConnection, seed: int
) -> None:
    check_altered_history(lake, judge, seed)


def check_altered_history(lake: Lake, judge: duckdb.DuckDBPyConnection, seed: int) -> None:
    history = AlteredHistory(lake, judge, seed)
    start = newest(judge)
    for _ in range(16):
        history.step()
    fresh = lake.attach()
    tables = {at: lake.table("t", at) for at in range(start, newest(fresh) + 1)}
    for at, table in tables.items():
        ours = lake.scan(table, at, identity=True, remote=at % 2 == 0)
        judged = judged_scan(fresh, "t", at, identity=True)
        assert ours == judged or repeats_rows(judged), at
    for after, upto in pairwise(tables):
        if tables[after].columns == tables[upto].columns:
            changes = lake.changes(tables[after], after, upto)
            assert plus(lake.scan(tables[after], after), changes) == lake.scan(tables[upto], upto)
        else:
            with pytest.raises(SchemaError, match="columns of the lake table"):
                lake.changes(tables[after], after, upto)
