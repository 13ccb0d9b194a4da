"""What a user may get wrong outside of the text: one message with a hint each, and never a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.integration.playbook.conftest import RunSteps

from runnel.errors import RunnelError, UserError
from runnel.playbook import PlaybookResult, render
from runnel.playbook.ducklake import pool
from runnel.servers import EmbeddedPostgres

SECRET = "hunter2 and more"


def told(result: PlaybookResult) -> tuple[str, str, str]:
    assert result.status == "error"
    response = result.steps[-1].response
    text = render(result) + result.to_json()
    assert SECRET not in text
    assert "Traceback" not in text
    return str(response.get("error")), str(response.get("detail")), str(response.get("hint"))


def test_an_unreachable_catalog(run_steps: RunSteps) -> None:
    dsn = make_conninfo("", host="127.0.0.1", port="1", user="u", password=SECRET, dbname="d")
    error, detail, hint = told(run_steps({"command": "SELECT 1"}, dsn=dsn))
    assert 'lake "analytics" is unreachable at 127.0.0.1:1, database "d"' in error
    assert "refused" in detail
    assert "check that the server runs" in hint


def test_a_wrong_password(run_steps: RunSteps, database: str) -> None:
    error, detail, _ = told(run_steps({"command": "SELECT 1"}, dsn=make_conninfo(database, password=SECRET)))
    assert "unreachable" in error
    assert "password authentication failed" in detail


def test_a_connection_that_is_none(run_steps: RunSteps) -> None:
    error, _, hint = told(run_steps({"command": "SELECT 1"}, dsn=f"host=x pasword='{SECRET}'"))
    assert "cannot be read" in error
    assert "postgresql://" in hint


def test_a_data_path_that_cannot_be_written(run_steps: RunSteps, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    path = tmp_path / "file" / "lake"
    error, detail, hint = told(run_steps({"command": "SELECT 1"}, data_path=path))
    assert f'data path "{path}" cannot be written' in error
    assert "directory" in detail.lower()
    assert "--data-path" in hint


def test_another_data_path_than_the_lakes(run_steps: RunSteps, tmp_path: Path) -> None:
    assert run_steps({"command": "CREATE TABLE t (a INT)"}).ok
    pool.close_all()
    error, detail, hint = told(run_steps({"command": "SELECT 1"}, data_path=tmp_path / "other"))
    assert 'lake "analytics" cannot be attached' in error
    assert "does not match" in detail
    assert "the data path that the lake was made with" in hint


def test_a_lake_that_may_not_be_made(run_steps: RunSteps) -> None:
    error, _, hint = told(run_steps({"command": "SELECT 1", "create_catalog": False}))
    assert 'lake "analytics" does not exist' in error
    assert "create_catalog" in hint


def test_a_missing_credential_stops_before_the_first_step(run_steps: RunSteps, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        run_steps({"command": "SELECT 1", "auth": "pg_nowhere"}, dsn=None)
    assert caught.value.message == 'step "s0": credential "pg_nowhere" is missing'
    assert "NOETL_SECRET_PG_NOWHERE" in str(caught.value.detail)
    assert not (tmp_path / "lake").exists()


def test_a_credential_from_the_environment(
    run_steps: RunSteps, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_SECRET_PG_CATALOG", database)
    result = run_steps({"command": "SELECT 1 AS a", "auth": "pg_catalog"}, dsn=None)
    assert result.ok, result.error


def test_an_inline_credential(run_steps: RunSteps, server: EmbeddedPostgres, database: str) -> None:
    parts = conninfo_to_dict(database)
    data = {
        "db_host": parts["host"],
        "db_port": parts["port"],
        "db_user": parts["user"],
        "db_password": parts["password"],
        "db_name": parts["dbname"],
    }
    auth = {"name": "c", "type": "postgres", "data": data}
    result = run_steps({"command": "SELECT 1 AS a", "auth": auth}, dsn=None)
    assert result.ok, result.error
    assert str(parts["password"]) not in result.to_json()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"command": "SELECT {{ nothing }}"}, "{{ nothing }}: 'nothing' is undefined"),
        ({"command": "SELECT 1 AS a", "vars": {"x": "{{ result.data.command_9.rows }}"}}, "command_9"),
        ({"command": "SELEC 1"}, "command 0 failed: syntax error"),
        ({"command": "SELECT * FROM missing_table"}, "missing_table does not exist"),
        ({"command": "SELECT 1", "threads": "many"}, "threads is 'many'"),
        ({"command": "SELECT 1", "memory_limit": "lots"}, 'lake "analytics" cannot be attached'),
        ({"command": "SELECT 1", "loop": {"collection": "{{ ids }}", "element": "x"}}, "'ids' is undefined"),
    ],
)
def test_one_clear_message(run_steps: RunSteps, step: dict[str, Any], message: str) -> None:
    error, _, _ = told(run_steps(step))
    assert error.startswith('step "s0": ')
    assert message in error


def test_a_command_with_a_secret_is_not_shown(run_steps: RunSteps) -> None:
    _, detail, _ = told(run_steps({"command": f"CREATE SECRET s (TYPE nothing, PASSWORD '{SECRET}')"}))
    assert "not shown" in detail


def test_a_workflow_without_end_is_told(run_steps: RunSteps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runnel.playbook.runner._MOST_VISITS", 5)
    with pytest.raises(RunnelError, match="has not ended after 5 steps"):
        run_steps({"command": "SELECT 1", "next": "s0"})
