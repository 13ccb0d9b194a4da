"""Wherever a clone lies and whoever runs it, somebody is found who may run PostgreSQL there."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path

from runnel.servers import EmbeddedPostgres, postgres_binaries
from runnel.servers.cluster import Cluster
from runnel.servers.identity import choose_identity, identities


def test_an_ordinary_user_runs_it_as_himself(tmp_path: Path) -> None:
    known = {entry.pw_uid for entry in pwd.getpwall()}
    ordinary = os.geteuid() != 0 and os.geteuid() in known
    assert (choose_identity((tmp_path,)).prefix == ()) == ordinary


def test_a_closed_folder_is_reached_by_somebody(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with EmbeddedPostgres(closed / "pg", settings={"fsync": "off"}) as server:
        assert server.port


def test_each_identity_serves_below_a_closed_folder_and_takes_over_from_the_others(tmp_path: Path) -> None:
    closed, home = tmp_path / "closed", tmp_path / "closed/pg"
    closed.mkdir(mode=0o700)
    home.mkdir()
    binaries = _copy_programs(closed)
    served = 0
    for identity in identities():
        if identity.reaches((binaries, closed)):
            _assert_serves(Cluster(home, 18, binaries, identity))
            served += 1
    assert served > 0


def _copy_programs(folder: Path) -> Path:
    """A copy of PostgreSQL's programs, beside the libraries that the wheel puts next to its package."""
    installed = postgres_binaries().parent
    for libraries in installed.parents[1].glob("*.libs"):
        (folder / libraries.name).symlink_to(libraries)
    return Path(shutil.copytree(installed, folder / "package" / installed.name)) / "bin"


def _assert_serves(cluster: Cluster) -> None:
    cluster.ensure(durable=False)
    cluster.configure({"fsync": "off"})
    paths = (cluster.home, *cluster.home.rglob("*"))
    assert {path.lstat().st_uid for path in paths} == {cluster.identity.uid}
    # PostgreSQL checks its programs, the directory's owner and its mode before it answers this.
    answer = subprocess.run([*cluster.command(5432), "-C", "fsync"], capture_output=True, text=True)
    assert answer.stdout.strip() == "off", answer.stderr
