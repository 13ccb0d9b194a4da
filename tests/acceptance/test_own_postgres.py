"""A stranger's road: their own PostgreSQL, no superuser, no extension; plain SQL and `runnel run`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import conninfo, sql
from tests.conftest import Connect, Login

from runnel.servers import EmbeddedPostgres

RUNNEL = str(Path(sys.executable).with_name("runnel"))
PATIENCE = 120.0
SUMS = "SELECT region, sum(total) AS revenue, count(*) AS orders FROM shop.orders GROUP BY region"


def runnel(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [RUNNEL, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=_environment(environment),
        timeout=PATIENCE,
    )


def _environment(changes: Mapping[str, str]) -> dict[str, str]:
    """Without what would name a database by itself."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "RUNNEL_"))}
    return {**kept, **changes}


@contextmanager
def running(dsn: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """`runnel run` as a user starts it; ended by Ctrl-C."""
    with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
        process = subprocess.Popen([RUNNEL, "run"], stdout=out, stderr=err, text=True,
                                   env=_environment({"RUNNEL_DSN": dsn}))  # fmt: skip
        try:
            yield process
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def wait_until_fresh(conn: psycopg.Connection[Any], process: subprocess.Popen[str], folder: Path) -> None:
    give_up_at = time.monotonic() + PATIENCE
    query = "SELECT t::text FROM {} AS t ORDER BY 1"
    while True:
        result = conn.execute(query.format("shop.sums").encode()).fetchall()
        if result == conn.execute(query.format(f"({SUMS})").encode()).fetchall():
            return
        said = (folder / "out").read_text() + (folder / "err").read_text()
        assert process.poll() is None, said
        assert time.monotonic() < give_up_at, said
        time.sleep(0.05)


@pytest.fixture
def engine_dsn(database: str, login: Login) -> str:
    return login(database, "engine")


def user_of(dsn: str) -> str:
    return str(conninfo.conninfo_to_dict(dsn)["user"])


@pytest.mark.parametrize("server", [18, 16], indirect=True)
def test_the_road(
    server: EmbeddedPostgres, database: str, engine_dsn: str, login: Login, connect: Connect, tmp_path: Path
) -> None:
    admin = connect(database, autocommit=True)
    alice_dsn = login(database, "alice")
    admin.execute(sql.SQL("CREATE SCHEMA shop AUTHORIZATION {}").format(sql.Identifier(user_of(alice_dsn))))
    alice = connect(alice_dsn, autocommit=True)
    alice.execute("CREATE TABLE shop.orders (id int PRIMARY KEY, region text, total numeric(10,2))")
    alice.execute("INSERT INTO shop.orders SELECT i, 'r' || i % 3, i FROM generate_series(1, 30) AS i")

    # init says what is missing, each as a line to run
    refused = runnel("init", engine_dsn)
    assert refused.returncode == 1
    [grant] = [line.removeprefix("hint: ") for line in refused.stderr.splitlines() if "GRANT" in line]
    admin.execute(grant.encode())
    done = runnel("init", engine_dsn)
    assert done.returncode == 0, done.stderr
    grants = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith("GRANT")]
    assert grants
    with pytest.raises(psycopg.Error, match="may not"):
        alice.execute("SELECT pgtrickle.create_stream_table('shop.sums', %s, '200ms')", [SUMS])
    for grant in grants:
        admin.execute(grant.encode())
    assert "GRANT" not in runnel("init", engine_dsn).stdout

    # from any client, by whoever owns the tables
    alice.execute("SELECT pgtrickle.create_stream_table('shop.sums', %s, '200ms')", [SUMS])
    with running(engine_dsn, tmp_path) as process:
        wait_until_fresh(alice, process, tmp_path)
        alice.execute("UPDATE shop.orders SET total = total * 2, region = 'r7' WHERE id < 10")
        alice.execute("DELETE FROM shop.orders WHERE id > 25")
        wait_until_fresh(alice, process, tmp_path)
        found = runnel("status", "--dsn", engine_dsn, "--json")
        assert [(s["name"], s["status"], s["owner"]) for s in json.loads(found.stdout)] == [
            ("shop.sums", "active", user_of(alice_dsn))
        ]
    assert (tmp_path / "err").read_text() == ""
    assert "serving the database" in (tmp_path / "out").read_text()
    owner = alice.execute("SELECT tableowner FROM pg_tables WHERE tablename = 'sums'").fetchone()
    assert owner == (user_of(alice_dsn),)
    supers = admin.execute(
        "SELECT rolsuper FROM pg_roles WHERE rolname = %s", [user_of(engine_dsn)]
    ).fetchone()
    assert supers == (False,)


def test_verify_and_history_at_the_command_line(
    runnel_db: str, server: EmbeddedPostgres, connect: Connect
) -> None:
    conn = connect(runnel_db, autocommit=True)
    conn.execute("CREATE SCHEMA shop")
    conn.execute("CREATE TABLE shop.orders (id int PRIMARY KEY, region text, total numeric(10,2))")
    conn.execute("INSERT INTO shop.orders VALUES (1, 'north', 10), (2, 'south', 20)")
    made = runnel("create", "shop.sums", SUMS, "--schedule", "5s", RUNNEL_DSN=runnel_db)
    assert (made.returncode, made.stderr) == (0, "")
    fine = runnel("verify", "shop.sums", RUNNEL_DSN=runnel_db)
    assert (fine.returncode, fine.stderr) == (0, "")
    assert "equal to its query at refresh 1, 2 rows" in fine.stdout
    conn.execute("UPDATE shop.sums SET revenue = revenue + 1 WHERE region = 'north'")
    wrong = runnel("verify", "shop.sums", RUNNEL_DSN=runnel_db)
    assert wrong.returncode == 1
    assert "differs" in wrong.stdout
    assert "missing: 1 rows\n    (north,10,1)\n  extra: 1 rows\n    (north,11,1)" in wrong.stdout
    shown = json.loads(runnel("history", "shop.sums", "--json", RUNNEL_DSN=runnel_db).stdout)
    assert [(r["refresh_number"], r["mode"], r["status"]) for r in shown] == [(1, "FULL", "completed")]
    program = runnel("explain", "shop.sums", RUNNEL_DSN=runnel_db).stdout
    assert "DIFFERENTIAL" in program
    assert "pgtrickle_changes.changes_" in program


SECRET = "s3cr3t-word"
UNREACHABLE = f"postgresql://someone:{SECRET}@127.0.0.1:1/nowhere"
BROKEN = f"postgresql://someone:{SECRET}@local host:no/where"


@pytest.mark.parametrize(
    ("arguments", "says", "code"),
    [
        (["run", UNREACHABLE], "cannot be reached", 1),
        (["init", UNREACHABLE], "cannot be reached", 1),
        (["doctor", UNREACHABLE], "cannot be reached", 1),
        (["run", BROKEN], "the connection string cannot be read", 1),
        (["status", "--dsn", BROKEN], "the connection string cannot be read", 1),
        (["run"], "no database was named", 1),
        (["fly"], "No such command", 2),
        (["run", "--fast"], "No such option", 2),
        (["create"], "Missing argument", 2),
        (["playbook", "run", "nowhere.yaml", "--dsn", UNREACHABLE], "nowhere.yaml", 1),
    ],
)
def test_bad_input_without_a_database(arguments: list[str], says: str, code: int) -> None:
    found = runnel(*arguments)
    assert found.returncode == code
    assert says in found.stderr + found.stdout
    assert "Traceback" not in found.stderr
    assert SECRET not in found.stderr + found.stdout
    assert len(found.stderr.splitlines()) <= 8


def test_bad_input_with_a_database(database: str, runnel_db: str, connect: Connect) -> None:
    def fails(*arguments: str, dsn: str = runnel_db) -> str:
        found = runnel(*arguments, RUNNEL_DSN=dsn)
        assert found.returncode == 1, found
        assert found.stderr.startswith("error: ")
        assert "Traceback" not in found.stderr
        assert str(conninfo.conninfo_to_dict(dsn)["password"]) not in found.stderr + found.stdout
        return found.stderr

    assert "runnel init" in fails("run", dsn=database)
    assert "does not exist" in fails("create", "s", "SELECT a FROM nowhere")
    assert "syntax error" in fails("create", "s", "SELEC a")
    assert "schedule 'soon' cannot be read" in fails("create", "s", "SELECT 1 AS a", "--schedule", "soon")
    for command in ("refresh", "verify", "explain", "history", "drop", "alter"):
        assert 'there is no stream table "nowhere"' in fails(command, "nowhere")
    conn = connect(runnel_db, autocommit=True)
    conn.execute("CREATE TABLE t (a int PRIMARY KEY)")
    refusal = fails("create", "s", "SELECT a, rank() OVER (ORDER BY a) AS r FROM t", "--mode", "DIFFERENTIAL")
    assert "column" in refusal
    assert conn.execute("SELECT to_regclass('s')").fetchone() == (None,)  # nothing half made
    conn.execute("UPDATE pgtrickle.pgt_version SET version = '9.9.9'")
    for command in (["run"], ["status"], ["init"]):
        assert "the installed SQL API has version 9.9.9" in fails(*command)


def test_the_doctor(database: str, runnel_db: str) -> None:
    well = runnel("doctor", runnel_db)
    assert (well.returncode, well.stderr) == (0, "")
    for says in (
        "✓ Java",
        "is no superuser",
        "no GRANT is missing",
        "no lake for sinks yet",
        "no engine serves",
    ):
        assert says in well.stdout
    ill = runnel("doctor", database)
    assert ill.returncode == 1
    assert "! the role postgres is a superuser" in ill.stdout
    assert "✗ the SQL API is not installed in this database" in ill.stdout


def test_no_java(runnel_db: str) -> None:
    """As on a machine where none of the places has one."""
    program = "import runnel.servers.java as java; java._PLACES = (); from runnel.cli import main; main()"
    environment = _environment({"PATH": "/nowhere"})
    environment.pop("JAVA_HOME", None)
    for command in (["run", runnel_db], ["doctor", runnel_db]):
        found = subprocess.run(
            [sys.executable, "-c", program, *command],
            capture_output=True,
            text=True,
            env=environment,
            timeout=PATIENCE,
        )
        assert found.returncode == 1
        assert "no Java 17 or newer found" in found.stderr + found.stdout
        assert "Traceback" not in found.stderr
