"""What we commit, as DuckDB reads it; and DuckDB's writers beside ours."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest
from tests.integration.lake.judge import Lake, judged_scan

from runnel.errors import RunnelError, SchemaError, TransientError, UserError
from runnel.lake.catalog import LakeCatalog, create_lake
from runnel.lake.commit import (
    Append,
    Commit,
    CreateSchema,
    CreateTable,
    DropTable,
    IdAllocator,
    NoConflict,
    Overwrite,
    Tag,
    commit,
)
from runnel.lake.files import WrittenFile, write_file
from runnel.lake.spec import DataType, Snapshot, Table, TableName, new_columns
from runnel.lake.view import drop_view, register_view, table_reference
from runnel.servers import EmbeddedPostgres

Connect = Callable[..., psycopg.Connection[Any]]

_COLUMNS = new_columns(
    [
        (name, DataType(text))
        for name, text in (("region", "varchar"), ("revenue", "decimal(38,2)"), ("n", "int64"))
    ]
)


def rows(*values: tuple[str | None, str | None, int]) -> pa.Table:
    regions, revenues, counts = zip(*values, strict=True)
    return pa.table(
        {
            "region": pa.array(regions, pa.string()),
            "revenue": pa.array(
                [None if text is None else Decimal(text) for text in revenues], pa.decimal128(38, 2)
            ),
            "n": pa.array(counts, pa.int64()),
        }
    )


def new_table(lake: Lake, name: str = "sink") -> Table:
    with lake.conn.transaction():
        return lake.catalog.new_table(lake.conn, "main", name, _COLUMNS)


def write(table: Table, *values: tuple[str | None, str | None, int]) -> WrittenFile:
    return write_file(table.directory, rows(*values), table.columns)


def create(lake: Lake, name: str = "sink") -> Table:
    lake.commit(CreateTable(new_table(lake, name)))
    return lake.table(name)


@pytest.mark.parametrize("server", [18, 16], indirect=True)
def test_table_rows_and_view_come_in_one_snapshot(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    table = new_table(lake)
    file = write(table, ("eu", "1.50", 1), (None, None, 2), ("us", "-3.25", 3))
    view = register_view(
        "main",
        "revenue",
        f"SELECT region, n + 1 FROM {table_reference(table.name)} WHERE n > 1",
        column_names=["Region", 'n "plus" 1'],
        comment="by region",
        tags={"runnel.query": "SELECT 'it''s'"},
    )
    snapshot = lake.commit(CreateTable(table), Append(table, (file,)), view, author="me", extra_info="{}")

    assert snapshot.snapshot_id == 1
    assert judge.execute("SELECT * FROM sink ORDER BY n").fetchall() == [
        ("eu", Decimal("1.50"), 1),
        (None, None, 2),
        ("us", Decimal("-3.25"), 3),
    ]
    found = judge.execute("FROM revenue ORDER BY 2")
    assert [column[0] for column in found.description or []] == ["Region", 'n "plus" 1']
    assert found.fetchall() == [(None, 3), ("us", 4)]
    query = "SELECT comment, tags FROM duckdb_views() WHERE view_name = 'revenue'"
    assert judge.execute(query).fetchall() == [("by region", {"runnel.query": "SELECT 'it''s'"})]
    query = "SELECT author, commit_extra_info FROM ducklake_snapshots('lake') WHERE snapshot_id = 1"
    assert judge.execute(query).fetchall() == [("me", "{}")]


def test_views_are_replaced_found_and_dropped(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    table = create(lake)
    for number in (1, 2):
        lake.commit(register_view("main", "v", f"SELECT {number} AS x FROM {table_reference(table.name)}"))
    found = lake.view("V")
    assert found is not None
    assert found.sql.startswith("SELECT 2 AS x")
    assert judge.execute("SELECT count(*) FROM duckdb_views() WHERE view_name = 'v'").fetchall() == [(1,)]
    lake.commit(drop_view("main", "v"))
    lake.commit(drop_view("main", "v"))
    assert lake.view("v") is None
    with pytest.raises(duckdb.CatalogException):
        judge.execute("FROM v")
    with pytest.raises(UserError, match=r"no view main\.v"):
        lake.commit(drop_view("main", "v", if_exists=False))
    with pytest.raises(TransientError, match=r"has a table main\.sink already"):
        lake.commit(register_view("main", "sink", "SELECT 1"))


def test_overwrite_keeps_the_past(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    table = create(lake)
    lake.commit(Append(table, (write(table, ("eu", "1", 1), ("us", "2", 2)),)))
    judge.execute("INSERT INTO sink VALUES ('inlined', 3, 3)")
    judge.execute("DELETE FROM sink WHERE n = 1")
    before = lake.scan(table, 4)
    after = lake.commit(Overwrite(table, (write(table, ("eu", "9", 9)),)))
    assert judge.execute("FROM sink").fetchall() == [("eu", Decimal("9.00"), 9)]
    fresh = lake.attach()
    assert judged_scan(fresh, "sink", 4) == before
    assert sum(before.values()) == 2
    assert lake.commit(Overwrite(table, ())).snapshot_id == after.snapshot_id + 1
    assert judge.execute("SELECT count(*) FROM sink").fetchall() == [(0,)]


def test_duckdb_writes_on_after_us(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    """Row ids stay unique, statistics never hide a row: filters are asked of what lies outside our bounds."""
    table = create(lake)
    lake.commit(Append(table, (write(table, ("m", "5", 5)),)))
    judge.execute("INSERT INTO sink VALUES ('z', 50, 50), ('a', -50, -50)")
    lake.commit(Append(table, (write(table, ("zz", "500", 500)), write(table, ("", "-500", -500)))))
    judge.execute("INSERT INTO sink SELECT 'q' || i, i, i FROM range(1000, 1100) r(i)")
    judge.execute("UPDATE sink SET region = 'updated' WHERE n = 500")
    judge.execute("DELETE FROM sink WHERE n = 1099")
    for connection in (judge, lake.attach()):
        counts = "SELECT count(*), count(DISTINCT rowid), min(n), max(n) FROM sink"
        assert connection.execute(counts).fetchall() == [(104, 104, -500, 1098)]
        for condition in (
            "n = -500",
            "n = 500",
            "n = 50",
            "n = 1098",
            "region = 'updated'",
            "region < 'b' AND n = -50",
        ):
            assert connection.execute(f"SELECT count(*) FROM sink WHERE {condition}").fetchall() == [(1,)], (
                condition
            )


def test_long_text_costs_the_column_its_bounds_not_its_rows(
    lake: Lake, judge: duckdb.DuckDBPyConnection
) -> None:
    table = create(lake)
    lake.commit(Append(table, (write(table, ("é" * 400, "1", 1)),)))
    judge.execute("INSERT INTO sink VALUES ('b', 2, 2)")
    lake.commit(Append(table, (write(table, ("c", "3", 3)),)))
    judge.execute("CALL ducklake_flush_inlined_data('lake')")
    for connection in (judge, lake.attach()):
        for condition in ("region > 'x'", "region = 'b'", "region = 'c'"):
            assert connection.execute(f"SELECT count(*) FROM sink WHERE {condition}").fetchall() == [(1,)], (
                condition
            )


def test_every_type_is_written_as_duckdb_would(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    values: dict[str, tuple[str, list[object], pa.DataType]] = {
        "b": ("boolean", [True, None, False], pa.bool_()),
        "i8": ("int8", [-128, None, 127], pa.int8()),
        "i32": ("int32", [-(2**31), None, 2**31 - 1], pa.int32()),
        "i64": ("int64", [-(2**63), None, 2**63 - 1], pa.int64()),
        "f": ("float64", [float("nan"), None, -1.5], pa.float64()),
        "d": ("decimal(38,4)", [Decimal("-1.0001"), None, Decimal(10) ** 33], pa.decimal128(38, 4)),
        "t": ("varchar", ["", None, "a'\"\\ü"], pa.string()),
        "nul": ("varchar", ["\0", None, "a\0"], pa.string()),
        "x": ("blob", [b"", None, b"\x00\xff"], pa.binary()),
        "dt": ("date", [datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)], pa.date32()),
        "ts": (
            "timestamp",
            [datetime.datetime(1900, 1, 1, 1), None, datetime.datetime(2100, 1, 1)],
            pa.timestamp("us"),
        ),
        "tz": (
            "timestamptz",
            [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), None, None],
            pa.timestamp("us", "UTC"),
        ),
        "u": ("uuid", ["54f8dfa5-ce24-48d3-8a30-0aa79a82615d", None, None], pa.string()),
        'Quoted "name"': ("int64", [1, 2, 3], pa.int64()),
    }
    columns = new_columns([(name, DataType(text)) for name, (text, _, _) in values.items()])
    data = pa.table({name: pa.array(cells, kind) for name, (_, cells, kind) in values.items()})
    with lake.conn.transaction():
        table = lake.catalog.new_table(lake.conn, "main", "Odd näme", columns)
    lake.commit(CreateTable(table), Append(table, (write_file(table.directory, data, columns),)))
    with lake.conn.transaction():
        (name,) = lake.catalog.tables(lake.conn, 1)
    assert name == TableName("main", "Odd näme")
    judge.execute('INSERT INTO "Odd näme" FROM "Odd näme"')
    judge.execute("CALL ducklake_flush_inlined_data('lake')")
    stored = lake.table("Odd näme")
    for at in (1, 2, 3):
        assert lake.scan(stored, at) == judged_scan(lake.attach(), '"Odd näme"', at)
    fresh = lake.attach()
    for column in ("d", "t", "dt", "ts"):
        query = f'SELECT count(*) FROM "Odd näme" WHERE {column} = (SELECT max({column}) FROM "Odd näme")'
        assert fresh.execute(query).fetchall() == [(2,)], column


def test_callers_statements_and_the_snapshot_stand_or_fall_together(lake: Lake, connect: Connect) -> None:
    table = create(lake)
    file = write(table, ("eu", "1", 1))
    conn = connect(lake.dsn)
    conn.execute("CREATE TABLE provenance (snapshot_id bigint)")
    conn.commit()
    for is_kept in (False, True):
        snapshot = commit(conn, lake.catalog, lambda *_: Commit((Append(table, (file,)),)), author="me")
        conn.execute("INSERT INTO provenance VALUES (%s)", (snapshot.snapshot_id,))
        if is_kept:
            conn.commit()
        else:
            conn.rollback()
    assert conn.execute("SELECT snapshot_id FROM provenance").fetchall() == [(2,)]
    assert sum(lake.scan(table, 2).values()) == 1


def test_two_snapshots_in_one_transaction(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    table = create(lake)
    with lake.conn.transaction():
        for number in (1, 2):
            work = Commit((Append(table, (write(table, ("eu", "1", number)),)),))
            commit(lake.conn, lake.catalog, lambda *_, work=work: work, author="me")
    assert judge.execute("SELECT n, snapshot_id FROM sink ORDER BY n").fetchall() == [(1, 2), (2, 3)]


def test_ours_and_duckdbs_writers_lose_nothing(lake: Lake, connect: Connect) -> None:
    """Three of ours and two of DuckDB's at once, each its own 12 rows."""
    table = create(lake)
    failures: list[BaseException] = []

    def ours(writer: int) -> None:
        conn = connect(lake.dsn)
        for number in range(12):
            work = Commit((Append(table, (write(table, (f"w{writer}", "1", number)),)),))
            commit(conn, lake.catalog, lambda *_, work=work: work, author="me", attempts=100)
            conn.commit()

    def theirs(writer: int, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("SET ducklake_max_retry_count = 100")
        for number in range(12):
            connection.execute(f"INSERT INTO sink VALUES ('d{writer}', 1, {number})")

    def guarded(target: Callable[..., None], *arguments: object) -> None:
        try:
            target(*arguments)
        except (duckdb.Error, psycopg.Error, RunnelError) as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(ours, writer)) for writer in range(3)]
    threads += [threading.Thread(target=guarded, args=(theirs, writer, lake.attach())) for writer in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    fresh = lake.attach()
    distinct = ", ".join(f"count(DISTINCT {what})" for what in ("rowid", "(region, n)", "snapshot_id"))
    assert fresh.execute(f"SELECT count(*), {distinct} FROM sink").fetchall() == [(60, 60, 60, 60)]
    assert len(fresh.execute("FROM ducklake_snapshots('lake')").fetchall()) == 62


def test_duckdb_waits_for_a_claim_and_goes_on(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    table = create(lake)
    judge.execute("FROM sink")
    with lake.conn.transaction():
        work = Commit((Append(table, (write(table, ("ours", "1", 1)),)),))
        commit(lake.conn, lake.catalog, lambda *_: work, author="me")
        insert = threading.Thread(target=judge.execute, args=("INSERT INTO sink VALUES ('theirs', 2, 2)",))
        insert.start()
        insert.join(0.3)
        assert insert.is_alive()
    insert.join()
    assert judge.execute("SELECT region FROM sink ORDER BY n").fetchall() == [("ours",), ("theirs",)]


def test_a_claim_held_too_long_is_a_transient_error(lake: Lake, connect: Connect) -> None:
    create(lake)
    other = connect(lake.dsn)
    commit(other, lake.catalog, lambda *_: Commit((CreateSchema("held"),)), author="other")
    with lake.conn.transaction():
        lake.conn.execute("SET LOCAL lock_timeout = '100ms'")
        with pytest.raises(TransientError, match="claimed by another writer"):
            commit(lake.conn, lake.catalog, lambda *_: Commit(()), author="me")
    other.rollback()


def test_stricter_isolation_is_refused(lake: Lake, connect: Connect) -> None:
    conn = connect(lake.dsn)
    conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    with pytest.raises(UserError, match="needs READ COMMITTED, this transaction is REPEATABLE READ"):
        commit(conn, lake.catalog, lambda *_: Commit(()), author="me")
    autocommit = connect(lake.dsn, autocommit=True)
    with pytest.raises(ValueError, match="transaction of the caller"):
        commit(autocommit, lake.catalog, lambda *_: Commit(()), author="me")


def test_files_of_a_changed_table_are_refused(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    table = create(lake)
    file = write(table, ("eu", "1", 1))
    judge.execute("ALTER TABLE sink ADD COLUMN extra INTEGER")
    with pytest.raises(SchemaError, match=r"columns of the lake table main\.sink have changed"):
        lake.commit(Append(table, (file,)))
    judge.execute("CREATE OR REPLACE TABLE sink (n BIGINT)")
    with pytest.raises(SchemaError, match="was dropped or replaced"):
        lake.commit(Append(table, (file,)))
    judge.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    judge.execute("CREATE TABLE parted (region VARCHAR, revenue DECIMAL(38,2), n BIGINT)")
    judge.execute("ALTER TABLE parted SET PARTITIONED BY (region)")
    with pytest.raises(UserError, match="is partitioned"):
        lake.commit(Append(lake.table("parted"), (file,)))
    judge.execute("CREATE TABLE strict (region VARCHAR NOT NULL, revenue DECIMAL(38,2), n BIGINT)")
    strict = lake.table("strict")
    with pytest.raises(UserError, match=r"the column region of the lake table main\.strict must not be null"):
        lake.commit(Append(strict, (write(strict, (None, "1", 1)),)))


def test_work_on_an_older_snapshot_conflicts(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    table = create(lake)

    def build(base: Snapshot, ids: IdAllocator) -> Commit:
        assert ids.snapshot_id == base.snapshot_id + 1
        return Commit((Overwrite(table, ()),), (NoConflict(table, since=1),))

    judge.execute("INSERT INTO sink VALUES ('new', 1, 1)")
    with pytest.raises(TransientError, match="was changed meanwhile"), lake.conn.transaction():
        lake.conn.execute("SELECT 1")
        commit(lake.conn, lake.catalog, build, author="me")
    assert judge.execute("SELECT count(*) FROM sink").fetchall() == [(1,)]


def test_schemas_tags_and_dropped_tables(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    table = create(lake)
    lake.commit(CreateSchema("x y"), Tag(table.name, "comment", "old"))
    lake.commit(Tag(table.name, "comment", "new"), Tag(table.name, "owner", "me"))
    lake.commit(Append(table, (write(table, ("eu", "1", 1)),)))
    query = "SELECT comment, tags FROM duckdb_tables() WHERE table_name = 'sink'"
    assert judge.execute(query).fetchall() == [("new", {"owner": "me"})]
    judge.execute('CREATE TABLE "x y".t AS FROM sink')
    snapshot = lake.commit(DropTable(table))
    with pytest.raises(duckdb.CatalogException):
        judge.execute("FROM sink")
    at = snapshot.snapshot_id - 1
    assert lake.attach().execute(f"SELECT count(*) FROM sink AT (VERSION => {at})").fetchall() == [(1,)]
    with pytest.raises(TransientError, match="has a schema x y already"):
        lake.commit(CreateSchema("x y"))
    judge.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
    judge.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert judge.execute('SELECT count(*) FROM "x y".t').fetchall() == [(1,)]


def test_a_plain_role_owns_a_lake(
    server: EmbeddedPostgres, database: str, login: Callable[..., str], tmp_path: Path, connect: Connect
) -> None:
    plain = login(database, "plain")
    with psycopg.connect(database) as conn:
        user = psycopg.sql.Identifier(str(psycopg.conninfo.conninfo_to_dict(plain)["user"]))
        conn.execute(psycopg.sql.SQL("CREATE SCHEMA ducklake AUTHORIZATION {}").format(user))
    create_lake(plain, "ducklake", str(tmp_path / "own"))
    with Lake(plain, str(tmp_path / "own"), LakeCatalog("ducklake"), connect(plain)) as lake:
        table = create(lake)
        lake.commit(Append(table, (write(table, ("eu", "1", 1)),)))
        assert lake.attach().execute("SELECT n FROM sink").fetchall() == [(1,)]
    stranger = login(database, "stranger")
    with pytest.raises(UserError, match="this role may not use the lake catalog"):
        LakeCatalog("ducklake").newest(connect(stranger))
