"""Which operating system user runs PostgreSQL, because it refuses to be run by root."""

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
        "PostgreSQL cannot be run here: root may not, and nobody else can reach " + str(folders[-1]),
        detail="tried " + ", ".join(" ".join(identity.prefix) for identity in identities()),
        hint="run this as an ordinary user",
    )


def identities() -> Iterator[Identity]:
    """For root, from the fewest rights to the most: each reaches folders that the ones before it cannot.

    A clone below root's private home is closed to an unprivileged user. In a user namespace the process
    stays root for the files while PostgreSQL sees another user; where a container forbids namespaces, the
    unprivileged user keeps the one capability that passes closed folders.
    """
    if os.geteuid() != 0:
        yield Identity((), os.geteuid(), os.getegid())
        return
    user = _unprivileged_user()
    drop = ("setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
    yield Identity(drop, user.pw_uid, user.pw_gid)
    yield Identity(("unshare", "--user", f"--map-user={user.pw_uid}", f"--map-group={user.pw_gid}"), 0, 0)
    keep = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")
    yield Identity((*drop, *keep), user.pw_uid, user.pw_gid)


def _unprivileged_user() -> pwd.struct_passwd:
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in _UNPRIVILEGED_USERS:
        if name in known:
            return known[name]
    raise UserError(
        "PostgreSQL cannot be run by root, and there is no user `nobody` to run it",
        hint="run this as an ordinary user",
    )
