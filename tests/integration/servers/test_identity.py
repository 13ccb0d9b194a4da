"""Wherever a clone lies and whoever runs it, somebody is found who may run PostgreSQL there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from runnel.servers import EmbeddedPostgres, postgres_binaries
from runnel.servers.cluster import Cluster
from runnel.servers.identity import Identity, choose_identity, identities


def _usable(folder: Path) -> list[Identity]:
    return [identity for identity in identities() if identity.reaches((folder, postgres_binaries()))]


def test_an_ordinary_user_needs_no_other_identity(tmp_path: Path) -> None:
    chosen = choose_identity((tmp_path,))
    assert (chosen.prefix == ()) == (os.geteuid() != 0)


def test_a_closed_folder_is_reached_by_somebody(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    assert _usable(closed)
    with EmbeddedPostgres(closed / "pg", settings={"fsync": "off"}) as server:
        assert server.port


def test_each_identity_makes_a_cluster_that_the_others_can_take_over(tmp_path: Path) -> None:
    home = tmp_path / "pg"
    home.mkdir()
    for identity in _usable(tmp_path):
        cluster = Cluster(home, 18, postgres_binaries(), identity)
        cluster.ensure(durable=False)
        cluster.configure({"fsync": "off"})
        owners = {path.lstat().st_uid for path in (home, *home.rglob("*"))}
        assert owners == {identity.uid}
        # The strictest of its own checks on the data directory's owner and mode comes first.
        assert _setting(cluster, "fsync") == "off"


def _setting(cluster: Cluster, name: str) -> str:
    command = [*cluster.command(5432), "-C", name]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
