"""A PostgreSQL of our own for demos and tests: there in a second, gone with its parent."""

from __future__ import annotations

import fcntl
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from psycopg.conninfo import make_conninfo

from runnel.errors import TransientError, UserError
from runnel.servers import postmaster
from runnel.servers.binaries import postgres_binaries
from runnel.servers.cluster import SUPERUSER, Cluster, clean_environment, last_lines
from runnel.servers.identity import choose_identity

_LOCALHOST = "127.0.0.1"
# Crash recovery of a large data directory takes its time.
_START_SECONDS = 300.0
_ATTEMPTS = 5
# Passes by itself: another process was given the same free port; a killed server's children still end.
_PASSING = ("Address already in use", "is still in use")
_OURS = frozenset({"lock", "password", "port", "pgdata", "pgdata.new", "server.log"})


class EmbeddedPostgres:
    """One server on one directory, open to this machine only, by password.

    Where another live process already runs it, `start` joins that server and `stop` leaves it alone.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        version: int = 18,
        settings: Mapping[str, str] | None = None,
        port: int | None = None,
    ) -> None:
        self._home = data_dir.resolve()
        self._version = version
        self._settings = dict(settings or {})
        self._wanted_port = port
        self._cluster: Cluster | None = None
        self._port: int | None = None
        self._lock: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def dsn(self) -> str:
        """Connects the superuser to the database `postgres`. It holds the password: never log it."""
        return self.dsn_of("postgres")

    @property
    def port(self) -> int:
        if self._port is None:
            raise RuntimeError("the server has not been started")
        return self._port

    @property
    def log(self) -> Path:
        return self._started.log

    @property
    def socket_folder(self) -> Path | None:
        """Where the unix socket lies; None where the directory's path is too long for one."""
        return self._started.socket_folder

    def dsn_of(self, database: str) -> str:
        return make_conninfo(
            host=_LOCALHOST, port=self.port, user=SUPERUSER, password=self._started.password, dbname=database
        )

    def start(self) -> None:
        if self._port is not None:
            return
        binaries = postgres_binaries(self._version)
        self._prepare_home()
        identity = choose_identity((binaries, self._home.parent))
        self._cluster = Cluster(self._home, self._version, binaries, identity)
        self._lock = _try_lock(self._home / "lock")
        if self._lock is None:
            self._port = self._join()
            return
        try:
            self._port = self._launch(self._cluster)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server, its sessions included; a second call does nothing."""
        if self._watcher is not None:
            postmaster.stand_down(self._watcher)
        if self._process is not None:
            process = self._process
            postmaster.end(process.pid, lambda: process.poll() is not None)
        if self._lock is not None:
            self._lock.close()
        self._port = self._lock = self._process = self._watcher = None

    @property
    def _started(self) -> Cluster:
        if self._cluster is None:
            raise RuntimeError("the server has not been started")
        return self._cluster

    def _prepare_home(self) -> None:
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            strange = sorted(entry.name for entry in self._home.iterdir() if not _is_ours(entry.name))
            if strange:
                raise UserError(
                    f"the directory {self._home} holds other files, such as {strange[0]}",
                    hint="name an empty directory, or one that does not exist yet",
                )
            self._home.chmod(0o700)
        except OSError as error:
            raise UserError(
                f"the data directory {self._home} cannot be used: {error.strerror}",
                hint="name a directory that you may write to",
            ) from error

    def _join(self) -> int:
        """The port of the server that another live process runs on this directory."""
        pgdata = self._started.pgdata

        def ready() -> bool:
            found = postmaster.read_postmaster(pgdata)
            return found is not None and found.ready

        postmaster.wait_until(ready, 30.0)
        found = postmaster.read_postmaster(pgdata)
        if found is None or not found.ready:
            raise TransientError(f"the server on {self._home} belongs to another process and is not ready")
        if self._wanted_port not in (None, found.port):
            raise UserError(
                f"the server on {self._home} already has port {found.port}, not {self._wanted_port}",
                hint="stop it first, or leave out the port",
            )
        return found.port

    def _launch(self, cluster: Cluster) -> int:
        postmaster.end_orphan(cluster.pgdata)
        cluster.ensure(durable=self._settings.get("fsync", "on") != "off")
        cluster.configure(self._settings)
        for _ in range(_ATTEMPTS):
            port = self._choose_port(cluster)
            if self._run(cluster, port):
                return port
        raise TransientError(
            f"the server on {self._home} does not start", detail=last_lines(cluster.log.read_text())
        )

    def _choose_port(self, cluster: Cluster) -> int:
        """The wanted one; else the last run's; else a free one."""
        if self._wanted_port is not None:
            if not _is_free(self._wanted_port):
                raise UserError(
                    f"port {self._wanted_port} is already in use",
                    hint="name another port, or none to get a free one",
                )
            return self._wanted_port
        last = cluster.last_port
        return last if last is not None and _is_free(last) else _free_port()

    def _run(self, cluster: Cluster, port: int) -> bool:
        """True once the server takes connections; False for a failure that may pass by itself."""
        with cluster.log.open("wb") as log:
            process = self._process = subprocess.Popen(
                cluster.command(port),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=cluster.home,
                env=clean_environment(),
                start_new_session=True,
            )
        self._watcher = postmaster.watch_over(process.pid)

        def settled() -> bool:
            found = postmaster.read_postmaster(cluster.pgdata)
            return process.poll() is not None or (
                found is not None and found.pid == process.pid and found.ready
            )

        in_time = postmaster.wait_until(settled, _START_SECONDS)
        if in_time and process.poll() is None:
            cluster.remember_port(port)
            return True
        postmaster.stand_down(self._watcher)
        self._watcher = None
        if not in_time or not any(text in cluster.log.read_text() for text in _PASSING):
            raise UserError(
                f"the server on {self._home} does not start", detail=last_lines(cluster.log.read_text())
            )
        return False


def _try_lock(path: Path) -> IO[bytes] | None:
    """Held as long as this process lives; None while another one holds it."""
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _is_ours(name: str) -> bool:
    return name in _OURS or name.startswith(".s.PGSQL.")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the server itself does: a port whose last connections still linger is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_LOCALHOST, port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOCALHOST, 0))
        return int(probe.getsockname()[1])
