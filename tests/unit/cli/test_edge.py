"""The edge of the command: what users see when something goes wrong, and how fast it says how to use it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import pytest

import runnel
from runnel.cli.edge import guarded, told
from runnel.cli.place import dsn_of
from runnel.cli.printing import as_json, table, text_of
from runnel.errors import UserError


def raising(error: BaseException):  # type: ignore[no-untyped-def]
    def command() -> None:
        raise error

    return command


def test_an_error_of_ours_is_one_message_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(raising(UserError("it is so", detail="because", hint="do this"))) == 1
    assert capsys.readouterr().err == "error: it is so\ndetail: because\nhint: do this\n"


def test_a_bug_says_where_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(raising(KeyError("x"))) == 1
    assert capsys.readouterr().err == "error: KeyError: 'x'\nhint: RUNNEL_DEBUG=1 shows where it comes from\n"


def test_debug_shows_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNEL_DEBUG", "1")
    with pytest.raises(UserError):
        guarded(raising(UserError("it is so")))


def test_usage_errors_leave_by_their_own_code() -> None:
    with pytest.raises(SystemExit) as left:
        guarded(raising(SystemExit(2)))
    assert left.value.code == 2


def test_told_takes_the_first_line_only() -> None:
    assert "second" not in told(RuntimeError("first\nsecond"))


def test_a_database_is_named_or_the_environment_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGDATABASE", "PGSERVICE", "PGPORT", "PGUSER"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match="no database was named"):
        dsn_of(None)
    assert dsn_of("dbname=x") == "dbname=x"
    monkeypatch.setenv("PGDATABASE", "x")
    assert dsn_of(None) == ""


def test_cells() -> None:
    assert [text_of(value) for value in (None, True, 1.25, 7)] == ["", "yes", "1.2", "7"]


def test_a_table_is_not_cut_off_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    table(("name", "why"), [("[bold]a", "x" * 100)])
    shown = capsys.readouterr().out
    assert "x" * 100 in shown
    assert "[bold]a" in shown


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass
    class Row:
        id: UUID
        at: datetime

    as_json([Row(UUID(int=1), datetime(2026, 1, 1, tzinfo=UTC))])
    assert json.loads(capsys.readouterr().out) == [
        {"id": "00000000-0000-0000-0000-000000000001", "at": "2026-01-01T00:00:00+00:00"}
    ]


def test_help_imports_nothing_that_takes_long() -> None:
    """What makes `runnel --help` fast; the time itself would be the machine's."""
    program = (
        "import sys\nfrom runnel.cli import main\nsys.argv = ['runnel', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "slow = {'pyspark', 'psycopg', 'duckdb', 'pyarrow', 'rich.console', 'pydantic'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for verb in (
        "init",
        "run",
        "create",
        "status",
        "refresh",
        "verify",
        "explain",
        "history",
        "drop",
        "playbook",
    ):
        assert f"\n  {verb} " in run.stdout


def test_version_and_lazy_connect() -> None:
    program = (
        "import sys, runnel; assert 'psycopg' not in sys.modules; print(runnel.connect('dbname=x').master)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "local[2]\n", run.stderr
    with pytest.raises(AttributeError):
        _ = runnel.nothing
