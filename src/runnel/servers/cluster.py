"""The files of one embedded PostgreSQL: made once, configured at every start."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runnel.errors import UserError
from runnel.servers.identity import Identity

SUPERUSER = "postgres"

_OUR_SETTINGS = "runnel.conf"
_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "128MB",
    "max_connections": "100",
    "wal_level": "logical",
    "max_prepared_transactions": "16",
    "max_replication_slots": "16",
    "max_wal_senders": "16",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}
# The longest socket path that every system takes is 103 bytes; the server adds `/.s.PGSQL.65535`.
_LONGEST_SOCKET_FOLDER = 85


@dataclass(frozen=True, slots=True)
class Cluster:
    """`home` is ours and closed to others; PostgreSQL's own data directory lies in it."""

    home: Path
    version: int
    binaries: Path
    identity: Identity

    @property
    def pgdata(self) -> Path:
        return self.home / "pgdata"

    @property
    def log(self) -> Path:
        return self.home / "server.log"

    @property
    def password(self) -> str:
        return self._password_file.read_text().strip()

    @property
    def last_port(self) -> int | None:
        """The port of the last run, so that addresses which people noted down stay true."""
        return int(self._port_file.read_text()) if self._port_file.exists() else None

    def remember_port(self, port: int) -> None:
        self._write(self._port_file, f"{port}\n")

    @property
    def socket_folder(self) -> Path | None:
        return self.home if len(os.fsencode(self.home)) <= _LONGEST_SOCKET_FOLDER else None

    def ensure(self, *, durable: bool) -> None:
        """Make the cluster unless it is there; an interrupted attempt leaves nothing that counts."""
        self.identity.take(self.home)
        if self.pgdata.exists():
            self._check_version()
            return
        new = self.home / "pgdata.new"
        shutil.rmtree(new, ignore_errors=True)
        self._write(self._password_file, secrets.token_urlsafe(24) + "\n")
        self._initdb(new, durable=durable)
        with (new / "postgresql.conf").open("a") as conf:
            conf.write(f"\ninclude_if_exists '{_OUR_SETTINGS}'\n")
        new.rename(self.pgdata)

    def configure(self, settings: Mapping[str, str]) -> None:
        """Ours first, the caller's over them; ALTER SYSTEM stays stronger than both."""
        ours = {**_SETTINGS, "unix_socket_directories": str(self.socket_folder or ""), **settings}
        lines = (f"{name} = '{_quoted(value)}'" for name, value in ours.items())
        self._write(self.pgdata / _OUR_SETTINGS, "\n".join(lines) + "\n")

    def command(self, port: int) -> list[str]:
        return [
            *self.identity.prefix,
            str(self.binaries / "postgres"),
            "-D",
            str(self.pgdata),
            "-p",
            str(port),
        ]

    @property
    def _password_file(self) -> Path:
        return self.home / "password"

    @property
    def _port_file(self) -> Path:
        return self.home / "port"

    def _check_version(self) -> None:
        found = (self.pgdata / "PG_VERSION").read_text().strip()
        if found != str(self.version):
            raise UserError(
                f"the data directory {self.home} was made by PostgreSQL {found}, not {self.version}",
                hint=f"use version {found}, or another directory",
            )

    def _initdb(self, target: Path, *, durable: bool) -> None:
        command = [*self.identity.prefix, str(self.binaries / "initdb"), "-D", str(target), "--encoding=UTF8"]
        command += [f"--username={SUPERUSER}", f"--pwfile={self._password_file}", "--auth=scram-sha-256"]
        command += ["--locale=C.UTF-8", "--lc-messages=C"] + ([] if durable else ["--no-sync"])
        run = subprocess.run(
            command,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            cwd=self.home,
            env=clean_environment(),
        )
        if run.returncode != 0:
            raise UserError(f"PostgreSQL cannot be set up in {self.home}", detail=last_lines(run.stderr))

    def _write(self, path: Path, text: str) -> None:
        """Closed to others from its first moment, and owned by whom the server runs as."""
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        if not self.identity.owns(path):
            os.chown(path, self.identity.uid, self.identity.gid)


def clean_environment() -> dict[str, str]:
    """Without PGPORT, PGOPTIONS and their kin, which are meant for another server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def last_lines(text: str, count: int = 5) -> str:
    return "\n".join(text.strip().splitlines()[-count:])


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")
