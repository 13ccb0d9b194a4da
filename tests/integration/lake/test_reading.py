"""Tables that DuckDB wrote, read by us: every type, every form of a missing file or a wrong name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from tests.integration.lake.judge import Lake, judged_scan, plus

from runnel.errors import RunnelError, SchemaError, TransientError, UserError
from runnel.lake import duck
from runnel.lake.catalog import LakeCatalog, create_lake
from runnel.lake.create import attach_statements
from runnel.lake.files import scan_tasks

Connect = Callable[..., psycopg.Connection[Any]]

_VALUES = {
    "boolean": ("BOOLEAN", "true", "false"),
    "int8": ("TINYINT", "-128", "127"),
    "int16": ("SMALLINT", "-32768", "32767"),
    "int32": ("INTEGER", "-2147483648", "2147483647"),
    "int64": ("BIGINT", "-9223372036854775807", "9223372036854775807"),
    "int128": ("HUGEINT", "-99999999999999", "99999999999999"),
    "uint8": ("UTINYINT", "0", "255"),
    "uint16": ("USMALLINT", "0", "65535"),
    "uint32": ("UINTEGER", "0", "4294967295"),
    "uint64": ("UBIGINT", "0", "18446744073709551615"),
    "float32": ("FLOAT", "'nan'", "0.1"),
    "float64": ("DOUBLE", "'-infinity'", "1e300"),
    "decimal": ("DECIMAL(38,10)", "-0.0000000001", "9999999999999999999999999999"),
    "varchar": ("VARCHAR", "''", "'quoted '' \\ ü\n'"),
    "json": ("JSON", "'{\"a\": 1}'", "'[]'"),
    "blob": ("BLOB", "'\\x00\\xFF'", "''"),
    "uuid": ("UUID", "'54f8dfa5-ce24-48d3-8a30-0aa79a82615d'", "'00000000-0000-0000-0000-000000000000'"),
    "date": ("DATE", "'0001-01-01'", "'9999-12-31'"),
    "time": ("TIME", "'00:00:00'", "'23:59:59.999999'"),
    "timestamp": ("TIMESTAMP", "'1000-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"),
    "timestamp_s": ("TIMESTAMP_S", "'1000-01-01 00:00:01'", "'9999-12-31 23:59:59'"),
    "timestamp_ms": ("TIMESTAMP_MS", "'1000-01-01 00:00:00.001'", "'9999-12-31 23:59:59.999'"),
    "timestamp_ns": ("TIMESTAMP_NS", "'1800-01-01 00:00:00.000001'", "'2200-12-31 23:59:59.999999'"),
    "timestamptz": ("TIMESTAMPTZ", "'1000-01-01 00:00:00.000001+00'", "'9999-12-31 23:59:59+00'"),
    "interval": ("INTERVAL", "'14 months 3 days 04:05:06.789'", "'0 seconds'"),
    "list": ("INTEGER[]", "[1, NULL]", "[]"),
    "struct": ("STRUCT(a INTEGER, b VARCHAR)", "{'a': 1, 'b': 'x'}", "{'a': NULL, 'b': NULL}"),
    "map": ("MAP(VARCHAR, INTEGER)", "MAP {'k': 1}", "MAP {}"),
    "deep": ("STRUCT(l STRUCT(x INTEGER[], y HUGEINT)[])", "{'l': [{'x': [1], 'y': 2}, NULL]}", "{'l': []}"),
}


def test_every_type_inlined_and_in_files(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    columns = ", ".join(f'"{name}" {kind}' for name, (kind, _, _) in _VALUES.items())
    judge.execute(f"CREATE TABLE t ({columns})")
    for row in (1, 2):
        values = ", ".join(cells[row] for cells in _VALUES.values())
        judge.execute(f"INSERT INTO t VALUES ({values})")
    judge.execute(f"INSERT INTO t VALUES ({', '.join(['NULL'] * len(_VALUES))})")
    table = lake.table("t")
    assert lake.scan(table, 4, remote=True) == judged_scan(lake.attach(), "t", 4)
    judge.execute("CALL ducklake_flush_inlined_data('lake')")
    assert lake.scan(table, 4) == judged_scan(lake.attach(), "t", 4)
    assert lake.scan(table, 5) == judged_scan(lake.attach(), "t", 5)


def test_intervals_that_only_the_catalog_can_hold(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    judge.execute("CREATE TABLE t (i INTERVAL)")
    judge.execute("INSERT INTO t VALUES ('-1 month 3 days -2 hours'), ('-13 months'), ('1 microsecond')")
    assert lake.scan(lake.table("t"), 2) == judged_scan(judge, "t", 2)


def test_names_that_look_like_ours(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    judge.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    names = ("w", "file_row_number", "row_id", "begun", "ended", "c0")
    judge.execute(f"CREATE TABLE t ({', '.join(f'{name} INTEGER' for name in names)})")
    judge.execute("INSERT INTO t SELECT 7, 100 + i, i, 99, 0, -i FROM range(20) r(i)")
    judge.execute("DELETE FROM t WHERE row_id % 3 = 0")
    table = lake.table("t")
    at = lake.newest()
    assert lake.scan(table, at) == judged_scan(judge, "t", at)
    assert plus(lake.scan(table, at - 1), lake.changes(table, at - 1, at)) == lake.scan(table, at)


def test_columns_and_filters(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    judge.execute('CREATE TABLE t ("Id" INTEGER, "odd "" name" VARCHAR)')
    judge.execute("INSERT INTO t SELECT i, 'n' || i FROM range(100) r(i)")
    (task,) = _tasks(lake, "t")
    assert task.read(['odd " name'], '"Id" BETWEEN 3 AND 4').read_all().to_pydict() == {
        'odd " name': ["n3", "n4"]
    }
    assert task.read(["id"]).read_all().column_names == ["Id"]
    with pytest.raises(UserError, match="has no column nope"):
        task.read(["nope"])


def test_the_feed_opens_no_file_that_did_not_change(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    """Also where old deletes were flushed and old files merged since."""
    judge.execute("CREATE TABLE t (id INTEGER, name VARCHAR)")
    for start in (0, 50):
        judge.execute(f"INSERT INTO t SELECT i, 'n' FROM range({start}, {start + 50}) r(i)")
    judge.execute("DELETE FROM t WHERE id = 1")
    after = lake.newest()
    judge.execute("INSERT INTO t VALUES (200, 'inlined')")
    judge.execute("CALL ducklake_flush_inlined_data('lake')")
    judge.execute("INSERT INTO t SELECT i, 'new' FROM range(300, 350) r(i)")
    judge.execute("DELETE FROM t WHERE id = 301")
    upto = lake.newest()
    table = lake.table("t")
    for file in lake.files(table, after):
        os.truncate(file.path, 3)
    changes = lake.changes(table, after, upto)
    assert sum(changes.values()) == 50
    assert set(changes.values()) == {1}
    judge.execute("CREATE TABLE copied AS SELECT i AS id FROM range(100) r(i)")
    judge.execute("DELETE FROM copied WHERE id < 60")
    after_rewrite = lake.newest()
    judge.execute("CALL ducklake_rewrite_data_files('lake', 'copied', delete_threshold => 0.1)")
    copied = lake.table("copied")
    for at in (after_rewrite, after_rewrite + 1):
        os.truncate(lake.files(copied, at)[0].path, 3)
    assert not lake.changes(copied, after_rewrite, after_rewrite + 1)
    with pytest.raises(SchemaError, match="a file of the lake cannot be read"):
        lake.scan(table, upto)
    Path(lake.files(table, after)[0].path).unlink()
    with pytest.raises(SchemaError, match="a file of the lake cannot be read"):
        lake.scan(table, upto)


def test_a_feed_without_an_exact_answer_is_refused(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    judge.execute("CREATE TABLE t (id INTEGER)")
    table = lake.table("t")
    for number in range(4):
        judge.execute(f"INSERT INTO t VALUES ({number})")
    judge.execute("CALL ducklake_expire_snapshots('lake', versions => [3])")
    for after in (1, 2, 3):
        with pytest.raises(SchemaError, match=r"since snapshot \d are gone") as failure:
            lake.changes(table, after, 5)
        assert failure.value.hint == "read the whole table at the newer snapshot instead"
    assert sum(lake.changes(table, 4, 5).values()) == 1
    assert not lake.changes(table, 5, 5)
    with pytest.raises(UserError, match="snapshot 3 was expired"):
        lake.snapshot(3)
    with pytest.raises(UserError, match="snapshot 99 does not exist"):
        lake.snapshot(99)
    judge.execute("ALTER TABLE t ALTER id TYPE BIGINT")
    with pytest.raises(SchemaError, match="columns of the lake table"):
        lake.changes(table, 5, 6)
    judge.execute("CREATE OR REPLACE TABLE t (id BIGINT)")
    with pytest.raises(SchemaError, match="was created, dropped or replaced"):
        lake.changes(table, 6, 7)


def test_rows_flushed_between_plan_and_read(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    judge.execute("CREATE TABLE t (id INTEGER)")
    judge.execute("INSERT INTO t VALUES (1)")
    table = lake.table("t")
    with lake.conn.transaction():
        (remote,) = scan_tasks(lake.conn, lake.catalog, table, 2, dsn=lake.dsn)
        (carried,) = scan_tasks(lake.conn, lake.catalog, table, 2)
    assert remote.read().read_all().to_pydict() == {"id": [1]}
    judge.execute("CALL ducklake_flush_inlined_data('lake')")
    assert carried.read().read_all().to_pydict() == {"id": [1]}
    with pytest.raises(TransientError, match="were flushed while it was read"):
        remote.read()


def test_encrypted_lakes_are_read(database: str, tmp_path: Path, connect: Connect) -> None:
    writer = duck.connect(("postgres_scanner", "ducklake", "httpfs"))
    data_path = f"DATA_PATH '{tmp_path / 'data'}'"
    for statement in attach_statements(database, "ducklake", "lake", data_path, "ENCRYPTED"):
        writer.execute(statement)
    writer.execute("USE lake")
    writer.execute("CREATE TABLE t AS SELECT i AS id FROM range(50) r(i)")
    writer.execute("DELETE FROM t WHERE id < 20")
    with Lake(database, str(tmp_path / "data"), LakeCatalog("ducklake"), connect(database)) as lake:
        assert lake.scan(lake.table("t"), 2) == judged_scan(writer, "t", 2)
    writer.close()


def test_what_is_not_supported_is_refused_by_name(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    judge.execute("CREATE TABLE nested (s STRUCT(a INTEGER))")
    judge.execute("ALTER TABLE nested ADD COLUMN s.b INTEGER")
    with pytest.raises(UserError, match=r"a nested column of main\.nested was altered"):
        lake.table("nested")
    judge.execute("CREATE TABLE added (id INTEGER, part INTEGER)")
    judge.execute(
        f"COPY (SELECT 1 AS id, 2 AS part) TO '{lake.path}/foreign' (FORMAT parquet, PARTITION_BY part)"
    )
    files = f"'{lake.path}/foreign/part=2/*.parquet'"
    judge.execute(f"CALL ducklake_add_data_files('lake', 'added', {files}, hive_partitioning => true)")
    with pytest.raises(UserError, match="a file whose path holds the column part"):
        lake.scan(lake.table("added"), lake.newest())
    judge.execute("CREATE TABLE big (id HUGEINT)")
    judge.execute("INSERT INTO big VALUES (170141183460469231731687303715884105727)")
    with pytest.raises(UserError, match="a value of the lake cannot be read exactly"):
        lake.scan(lake.table("big"), lake.newest())


def test_files_without_field_ids_are_read_by_name(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    """Added files carry a mapping of names; where even that is missing, the table's names count."""
    judge.execute("CREATE TABLE t (id BIGINT, name VARCHAR)")
    judge.execute(
        f"COPY (SELECT 'n' || i AS NAME, i::INTEGER AS id FROM range(9) r(i)) TO '{lake.path}/a.parquet'"
    )
    judge.execute(f"CALL ducklake_add_data_files('lake', 't', '{lake.path}/a.parquet')")
    judge.execute("ALTER TABLE t RENAME COLUMN name TO title")
    judge.execute("ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 5")
    judge.execute("DELETE FROM t WHERE id = 3")
    for at in (2, lake.newest()):
        table = lake.table("t", at)
        assert lake.scan(table, at, identity=True) == judged_scan(lake.attach(), "t", at, identity=True)
    judge.execute("CREATE TABLE bare (id BIGINT, name VARCHAR)")
    judge.execute("INSERT INTO bare SELECT i, 'b' || i FROM range(30) r(i)")
    table = lake.table("bare")
    (file,) = lake.files(table, lake.newest())
    judge.execute(f"COPY (SELECT id, name FROM bare) TO '{file.path}.new' (FORMAT parquet)")
    with lake.conn.transaction():
        size = Path(f"{file.path}.new").stat().st_size
        update = "UPDATE ducklake.ducklake_data_file SET file_size_bytes = %s, footer_size = NULL"
        lake.conn.execute(f"{update} WHERE data_file_id = %s", (size, file.data_file_id))
    Path(f"{file.path}.new").rename(file.path)
    assert lake.scan(table, lake.newest()) == judged_scan(lake.attach(), "bare", lake.newest())
    assert ("0", "'b0'") in lake.scan(table, lake.newest())


def test_wrong_names_get_a_hint(lake: Lake, judge: duckdb.DuckDBPyConnection) -> None:
    judge.execute("CREATE TABLE orders_archive (id INTEGER)")
    with pytest.raises(UserError, match=r"has no table main\.order_archive") as failure:
        lake.table("order_archive")
    assert failure.value.hint == "it has main.orders_archive"
    elsewhere = LakeCatalog("public")
    with (
        pytest.raises(SchemaError, match='no DuckLake catalog in the schema "public"'),
        lake.conn.transaction(),
    ):
        elsewhere.newest(lake.conn)
    with lake.conn.transaction():
        lake.conn.execute("UPDATE ducklake.ducklake_metadata SET value = '2.0' WHERE key = 'version'")
    with pytest.raises(SchemaError, match=r"has the version 2\.0"):
        lake.table("orders_archive")


def test_a_lake_is_created_once(database: str, tmp_path: Path) -> None:
    create_lake(database, "a lake", str(tmp_path / "it's here"))
    create_lake(database, "a lake", str(tmp_path / "it's here"))
    assert (tmp_path / "it's here").is_dir()
    with pytest.raises(UserError, match="another data path"):
        create_lake(database, "a lake", str(tmp_path / "there"))
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        create_lake(database, "other", str(tmp_path / "file" / "below"))
    with pytest.raises(UserError, match="not on the local file system"):
        create_lake(database, "other", "s3://bucket/lake")


def test_a_catalog_out_of_reach_shows_no_password(
    database: str, tmp_path: Path, login: Callable[..., str]
) -> None:
    parts = psycopg.conninfo.conninfo_to_dict(database)
    wrong = psycopg.conninfo.make_conninfo(database, password="hunter2secret")
    nowhere = psycopg.conninfo.make_conninfo(database, port=1, password="hunter2secret")
    poor = login(database, "poor")
    secret = str(psycopg.conninfo.conninfo_to_dict(poor)["password"])
    for dsn in (wrong, nowhere, poor, "hunter2secret=x"):
        with pytest.raises(RunnelError) as failure:
            create_lake(dsn, "ducklake", str(tmp_path / "data"))
        assert "hunter2secret" not in str(failure.value).replace("hunter2secret=x", "")
        assert secret not in str(failure.value)
        assert str(parts["password"]) not in str(failure.value)
    assert "may not create schemas" in str(failure.value) or "connection string" in str(failure.value)


def _tasks(lake: Lake, name: str) -> list[Any]:
    with lake.conn.transaction():
        table = lake.catalog.table(lake.conn, "main", name)
        return scan_tasks(lake.conn, lake.catalog, table, lake.catalog.newest(lake.conn).snapshot_id)
