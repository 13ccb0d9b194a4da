"""Which user of the system runs PostgreSQL: it refuses root, and users without a name."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runnel.errors import UserError

_UNPRIVILEGED_USERS = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Identity:
    """A prefix that makes a command run as somebody, and who owns the files it writes."""

    prefix: tuple[str, ...]
    uid: int
    gid: int

    def owns(self, path: Path) -> bool:
        return path.stat().st_uid == self.uid

    def take(self, folder: Path) -> None:
        """Give a folder and all below it to this identity; only root ever has to."""
        if self.owns(folder):
            return
        for path in (folder, *folder.rglob("*")):
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def reaches(self, folders: Sequence[Path]) -> bool:
        """Whether this identity can be taken on here, and then enter and read all these folders."""
        check = 'for folder; do test -r "$folder" -a -x "$folder" || exit 1; done'
        command = [*self.prefix, "sh", "-c", check, "sh", *map(str, folders)]
        try:
            return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0
        except FileNotFoundError:
            return False


def choose_identity(folders: Sequence[Path]) -> Identity:
    """The first identity that may run PostgreSQL and can reach all these folders."""
    for identity in identities():
        if identity.reaches(folders):
            return identity
    raise UserError(
        f"PostgreSQL cannot be run by this user, and no other one can be taken on that reaches {folders[-1]}",
        detail="; ".join(" ".join(identity.prefix) for identity in identities()) or None,
        hint="run this as an ordinary user",
    )


def identities() -> Iterator[Identity]:
    """Who could run it, from the fewest rights to the most: each reaches what the ones before it cannot.

    A clone below root's private home is closed to an unprivileged user. In a user namespace the process
    stays root for the files while PostgreSQL sees another user; where a container forbids namespaces, the
    unprivileged user keeps the one capability that passes closed folders.
    """
    uid, gid = os.geteuid(), os.getegid()
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    if uid != 0 and any(entry.pw_uid == uid for entry in known.values()):
        yield Identity((), uid, gid)
        return
    other = next((known[name] for name in _UNPRIVILEGED_USERS if name in known), None)
    if other is None:
        return
    drop = ("setpriv", f"--reuid={other.pw_uid}", f"--regid={other.pw_gid}", "--clear-groups")
    if uid == 0:
        yield Identity(drop, other.pw_uid, other.pw_gid)
    # Also for a container's user without a name, whom initdb refuses.
    yield Identity(
        ("unshare", "--user", f"--map-user={other.pw_uid}", f"--map-group={other.pw_gid}"), uid, gid
    )
    if uid == 0:
        # access(2), which PostgreSQL asks about its programs, heeds capabilities only under this bit.
        keep = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--securebits=+no_setuid_fixup")
        yield Identity((*drop, *keep), other.pw_uid, other.pw_gid)
