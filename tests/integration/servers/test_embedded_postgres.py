"""An embedded server starts anywhere, ends with its parent, and says what is wrong in one message."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from runnel.errors import UserError
from runnel.servers import EmbeddedPostgres, postmaster

_SETTINGS = {"fsync": "off"}
# A parent that starts a server, says so, and waits to be killed.
_PARENT = """
import sys, time
from pathlib import Path
from runnel.servers import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), settings={"fsync": "off"})
server.start()
print(server.port, flush=True)
time.sleep(600)
"""


def _answer(server: EmbeddedPostgres, query: str) -> Any:
    with psycopg.connect(server.dsn) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def _make_table(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.dsn) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS n")


def _postmaster_pid(home: Path) -> int:
    found = postmaster.read_postmaster(home / "pgdata")
    assert found is not None
    return found.pid


def _runs(pid: int) -> bool:
    """A zombie that nobody has collected yet has no command line any more."""
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes() != b""
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def parent(tmp_path: Path) -> Callable[[], subprocess.Popen[str]]:
    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _PARENT, str(tmp_path / "pg")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline().strip().isdigit()
        return process

    return start


@pytest.mark.parametrize("version", [16, 18])
def test_it_serves_what_runnel_needs_and_keeps_data_over_a_restart(tmp_path: Path, version: int) -> None:
    server = EmbeddedPostgres(tmp_path / "pg", version=version, settings=_SETTINGS)
    with server:
        assert _answer(server, "SHOW server_version_num").startswith(str(version))
        assert _answer(server, "SHOW wal_level") == "logical"
        assert int(_answer(server, "SHOW max_prepared_transactions")) > 0
        assert _answer(server, "SELECT upper('ä')") == "Ä"
        _make_table(server)
        first_dsn = server.dsn
    with server:
        assert _answer(server, "SELECT n FROM kept") == 42
        assert server.dsn == first_dsn


def test_settings_of_the_caller_win_and_may_hold_quotes(tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path / "pg", settings={**_SETTINGS, "cluster_name": "it's"}) as server:
        assert _answer(server, "SHOW cluster_name") == "it's"


def test_nobody_gets_in_without_the_password_which_is_closed_to_others(tmp_path: Path) -> None:
    home = tmp_path / "pg"
    with EmbeddedPostgres(home, settings=_SETTINGS) as server:
        assert (home / "password").stat().st_mode & 0o077 == 0
        assert home.stat().st_mode & 0o077 == 0
        for host in ("127.0.0.1", str(server.socket_folder)):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(host=host, port=server.port, user="postgres", dbname="postgres")
        password = (home / "password").read_text().strip()
        assert password not in server.log.read_text()


def test_the_unix_socket_is_left_out_where_the_path_is_too_long(tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path / ("d" * 90), settings=_SETTINGS) as server:
        assert server.socket_folder is None
        assert _answer(server, "SELECT 1") == 1


def test_a_path_may_hold_spaces_and_quotes(tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path / "a b'c", settings=_SETTINGS) as server:
        assert _answer(server, "SELECT 1") == 1


def test_several_run_side_by_side(tmp_path: Path, pg: EmbeddedPostgres) -> None:
    with EmbeddedPostgres(tmp_path / "other", settings=_SETTINGS) as other:
        assert other.port != pg.port
        assert _answer(other, "SELECT 1") == _answer(pg, "SELECT 1")


def test_start_and_stop_may_be_called_twice(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "pg", settings=_SETTINGS)
    server.start()
    server.start()
    assert _answer(server, "SELECT 1") == 1
    server.stop()
    server.stop()
    with pytest.raises(RuntimeError):
        _ = server.port


def test_a_second_start_joins_the_running_server_and_leaves_it_running(tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path / "pg", settings=_SETTINGS) as owner:
        with EmbeddedPostgres(tmp_path / "pg", settings=_SETTINGS) as guest:
            assert guest.dsn == owner.dsn
        assert _answer(owner, "SELECT 1") == 1
        with pytest.raises(UserError, match=f"already has port {owner.port}"):
            EmbeddedPostgres(tmp_path / "pg", port=1).start()


def test_sessions_that_are_still_open_do_not_hold_up_a_stop(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "pg", settings=_SETTINGS)
    server.start()
    pid = _postmaster_pid(tmp_path / "pg")
    with psycopg.connect(server.dsn) as connection:
        connection.execute("CREATE TABLE t (a int)")
        server.stop()
        assert not _runs(pid)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


def test_the_server_ends_when_its_parent_is_killed(
    tmp_path: Path, parent: Callable[[], subprocess.Popen[str]]
) -> None:
    process = parent()
    pid = _postmaster_pid(tmp_path / "pg")
    process.kill()
    process.wait()
    assert postmaster.wait_until(lambda: not _runs(pid), 10)


def test_an_orphan_is_ended_by_the_next_start(
    tmp_path: Path, parent: Callable[[], subprocess.Popen[str]]
) -> None:
    process = parent()
    orphan = _postmaster_pid(tmp_path / "pg")
    os.kill(_watcher_of(orphan), signal.SIGKILL)
    process.kill()
    process.wait()
    assert _runs(orphan)
    with EmbeddedPostgres(tmp_path / "pg", settings=_SETTINGS) as server:
        assert not _runs(orphan)
        assert _answer(server, "SELECT 1") == 1


def test_a_server_that_was_killed_recovers(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "pg", settings=_SETTINGS)
    server.start()
    _make_table(server)
    os.kill(_postmaster_pid(tmp_path / "pg"), signal.SIGKILL)
    server.stop()
    with server:
        assert _answer(server, "SELECT n FROM kept") == 42


def test_a_pid_file_that_names_a_stranger_is_not_believed(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "pg", settings=_SETTINGS)
    with server:
        record = (tmp_path / "pg/pgdata/postmaster.pid").read_text().splitlines()
    (tmp_path / "pg/pgdata/postmaster.pid").write_text("\n".join([str(os.getpid()), *record[1:]]))
    with server:
        assert _answer(server, "SELECT 1") == 1


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"port {port} is already in use"):
            EmbeddedPostgres(tmp_path / "pg", port=port, settings=_SETTINGS).start()


def test_a_wanted_port_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with EmbeddedPostgres(tmp_path / "pg", port=port, settings=_SETTINGS) as server:
        assert server.port == port


def test_a_data_directory_of_another_version_is_refused(tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path / "pg", version=16, settings=_SETTINGS):
        pass
    with pytest.raises(UserError, match="was made by PostgreSQL 16, not 18"):
        EmbeddedPostgres(tmp_path / "pg", version=18).start()


def test_a_directory_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    before = tmp_path.stat().st_uid
    with pytest.raises(UserError, match=r"holds other files, such as thesis\.txt"):
        EmbeddedPostgres(tmp_path).start()
    assert tmp_path.stat().st_uid == before


def test_a_directory_that_cannot_be_written_is_named() -> None:
    with pytest.raises(UserError, match="/proc/pg cannot be used"):
        EmbeddedPostgres(Path("/proc/pg")).start()


def test_a_version_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no programs of PostgreSQL 9 found"):
        EmbeddedPostgres(tmp_path / "pg", version=9).start()


def test_a_server_that_does_not_start_says_why_and_leaves_nothing_running(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "pg", settings={**_SETTINGS, "shared_buffers": "lots"})
    with pytest.raises(UserError, match="does not start") as caught:
        server.start()
    assert "shared_buffers" in (caught.value.detail or "")
    with EmbeddedPostgres(tmp_path / "pg", settings=_SETTINGS) as mended:
        assert _answer(mended, "SELECT 1") == 1


def test_an_interrupted_set_up_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "pg/pgdata.new").mkdir(parents=True)
    (tmp_path / "pg/pgdata.new/PG_VERSION").write_text("18\n")
    with EmbeddedPostgres(tmp_path / "pg", settings=_SETTINGS) as server:
        assert _answer(server, "SELECT 1") == 1


def _watcher_of(pid: int) -> int:
    for process in Path("/proc").glob("[0-9]*"):
        words = (process / "cmdline").read_bytes().split(b"\0")
        if b"runnel-watch" in words and str(pid).encode() in words:
            return int(process.name)
    raise AssertionError(f"nobody watches over {pid}")
