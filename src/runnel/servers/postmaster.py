"""The server process itself: who it is, when it is ready, and that it never outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_POLL_SECONDS = 0.01
# Fast shutdown first; then without its checkpoint; then by force.
_ENDINGS = ((signal.SIGINT, 15.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))


@dataclass(frozen=True, slots=True)
class Postmaster:
    """What PostgreSQL writes into postmaster.pid about itself."""

    pid: int
    port: int
    ready: bool

    def serves(self, pgdata: Path) -> bool:
        """Whether this process lives and is a server on these files: a pid may have been used again."""
        return os.fsencode(pgdata) in _command_line(self.pid)


def read_postmaster(pgdata: Path) -> Postmaster | None:
    """The server that is or was running on these files; None while there is no complete record."""
    try:
        lines = (pgdata / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return None
    if len(lines) < 4:
        return None
    ready = len(lines) > 7 and lines[7].strip() == "ready"
    return Postmaster(int(lines[0]), int(lines[3]), ready)


def end_orphan(pgdata: Path) -> None:
    """End the server that a killed parent left behind, so that a new one can take its files."""
    found = read_postmaster(pgdata)
    if found is None:
        return
    if found.serves(pgdata):
        end(found.pid, lambda: not found.serves(pgdata))
    elif _command_line(found.pid):
        # Somebody else has the pid now, and PostgreSQL would take him for the server.
        (pgdata / "postmaster.pid").unlink(missing_ok=True)


def end(pid: int, ended: Callable[[], bool]) -> None:
    for number, patience in _ENDINGS:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        if wait_until(ended, patience):
            return


def watch_over(pid: int) -> subprocess.Popen[bytes]:
    """A shell that reads from us: when we die, however we die, its input ends and it ends the server."""
    script = 'read -r stand_down || kill -INT "$1"'
    return subprocess.Popen(
        ["sh", "-c", script, "runnel-watch", str(pid)], stdin=subprocess.PIPE, start_new_session=True, cwd="/"
    )


def stand_down(watcher: subprocess.Popen[bytes]) -> None:
    watcher.communicate(b"stand down\n")


def wait_until(reached: Callable[[], bool], patience: float) -> bool:
    deadline = time.monotonic() + patience
    while not reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _command_line(pid: int) -> bytes:
    """Empty for a process that is gone or a zombie."""
    proc = Path("/proc")
    if (proc / "self").exists():
        try:
            return (proc / str(pid) / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return b""
    return subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True).stdout
