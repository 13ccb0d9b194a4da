"""The SQL of playbooks as DuckDB gets to see it: each input beside what must come out."""

from __future__ import annotations

import pytest

from runnel.playbook.ducklake.dialect import translate
from runnel.playbook.ducklake.tokens import split


def living(first: int, last: int) -> tuple[int, int] | None:
    """A lake with the snapshots 3 to 7."""
    low, high = max(first, 3), min(last, 7)
    return (low, high) if low <= high else None


def sql_of(command: str) -> str:
    [statement] = translate(command, living).statements
    return " ".join(statement.sql.split())


@pytest.mark.parametrize(
    ("written", "run"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT current_setting('worker_id')", "SELECT getvariable('worker_id')"),
        ("SELECT CURRENT_SETTING ( 'Worker_ID' )", "SELECT getvariable ( 'worker_id' )"),
        ("SELECT current_setting('threads')", "SELECT current_setting('threads')"),
        ("SELECT 'current_setting(''worker_id'')' AS t", "SELECT 'current_setting(''worker_id'')' AS t"),
        ("FROM sales FOR SYSTEM_TIME AS OF SNAPSHOT 5", "FROM sales AT (VERSION => 5)"),
        ("FROM sales FOR SYSTEM_TIME AS OF 5 WHERE true", "FROM sales AT (VERSION => 5) WHERE true"),
        (
            "SELECT * FROM sales FOR SYSTEM_TIME AS OF '2025-01-06 10:00:00+00'",
            "SELECT * FROM sales AT (TIMESTAMP => TIMESTAMPTZ '2025-01-06 10:00:00+00')",
        ),
        (
            "FROM a FOR SYSTEM_TIME AS OF TIMESTAMP '2025-01-06' AS x"
            " JOIN b FOR SYSTEM_TIME AS OF VERSION 3 y ON true",
            "FROM a AS x AT (TIMESTAMP => TIMESTAMPTZ '2025-01-06') JOIN b y AT (VERSION => 3) ON true",
        ),
        ("SELECT 'FOR SYSTEM_TIME AS OF 5' AS t", "SELECT 'FOR SYSTEM_TIME AS OF 5' AS t"),
        (
            "FROM ducklake_table_changes('analytics', 'main', 'sales', 0, 10)",
            "FROM ducklake_table_changes('analytics', 'main', 'sales', 3, 7)",
        ),
        ("FROM analytics.table_changes('sales', 4, 5)", "FROM analytics.table_changes('sales', 4, 5)"),
        ("FROM analytics.table_changes('sales', 8, 9)", "FROM analytics.table_changes('sales', 8, 9)"),
    ],
)
def test_a_statement_is_translated(written: str, run: str) -> None:
    assert sql_of(written) == run


@pytest.mark.parametrize(
    ("written", "run", "told"),
    [
        ("CREATE TABLE t (a INT PRIMARY KEY)", "CREATE TABLE t (a INT NOT NULL)", ["PRIMARY KEY of t.a"]),
        (
            "CREATE TABLE IF NOT EXISTS s.t (a INT UNIQUE)",
            "CREATE TABLE IF NOT EXISTS s.t (a INT)",
            ["UNIQUE"],
        ),
        (
            "CREATE OR REPLACE TABLE t (a DECIMAL(10,2) CONSTRAINT c CHECK (a > 0) NOT NULL, b TEXT)",
            "CREATE OR REPLACE TABLE t (a DECIMAL(10,2) NOT NULL, b TEXT)",
            ["CHECK of t.a"],
        ),
        (
            "CREATE TABLE t (a INT REFERENCES s.u (b) ON DELETE SET NULL ON UPDATE CASCADE DEFAULT 3, b INT)",
            "CREATE TABLE t (a INT DEFAULT 3, b INT)",
            ["REFERENCES of t.a"],
        ),
        (
            'CREATE TABLE t ("a b" INT, c INT, PRIMARY KEY ("a b", c), UNIQUE (c), CHECK (c > 0))',
            'CREATE TABLE t ("a b" INT NOT NULL, c INT NOT NULL)',
            ["PRIMARY KEY", "UNIQUE (c)", "CHECK"],
        ),
        (
            "CREATE TABLE t (a INT, CONSTRAINT f FOREIGN KEY (a) REFERENCES u (b))",
            "CREATE TABLE t (a INT)",
            ["FOREIGN KEY (a)"],
        ),
        ("CREATE TEMP TABLE t (a INT PRIMARY KEY)", "CREATE TEMP TABLE t (a INT PRIMARY KEY)", []),
        ("CREATE TABLE t AS SELECT 1 AS a", "CREATE TABLE t AS SELECT 1 AS a", []),
        ("CREATE TABLE t (a INT[], b STRUCT(c INT))", "CREATE TABLE t (a INT[], b STRUCT(c INT))", []),
        ("CREATE VIEW v AS SELECT 1 AS a", "CREATE VIEW v AS SELECT 1 AS a", []),
    ],
)
def test_constraints_are_dropped_with_a_warning(written: str, run: str, told: list[str]) -> None:
    translation = translate(written, living)
    [statement] = translation.statements
    assert " ".join(statement.sql.split()).replace(" ,", ",").replace(" )", ")") == run
    assert len(translation.warnings) == len(told)
    assert all(part in warning for part, warning in zip(told, translation.warnings, strict=True))


def test_statements_are_split_where_duckdb_splits_them() -> None:
    text = "SELECT ';' AS a; -- one; two\n/* ; */ SELECT $$;$$; ; INSERT INTO t VALUES (1) -- end;"
    assert list(split(text)) == ["SELECT ';' AS a", "SELECT $$;$$", "INSERT INTO t VALUES (1)"]


def test_comments_alone_are_no_statement() -> None:
    assert translate("-- nothing\n/* at all */", living).statements == ()


def test_a_cleanup_that_deletes_nothing_is_told() -> None:
    [warning] = translate("CALL ducklake_cleanup_old_files('analytics', dry_run => false)", living).warnings
    assert "cleanup_all" in warning
    assert not translate("CALL ducklake_cleanup_old_files('a', cleanup_all => true)", living).warnings


def test_changes_that_are_clamped_are_told() -> None:
    translation = translate("FROM ducklake_table_changes('a', 'main', 's', 0, 10)", living)
    assert translation.warnings == ("snapshots 0 to 10: the lake has 3 to 7 of them",)
