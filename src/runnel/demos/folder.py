"""A folder for what a demo writes: inside the clone where there is one, gone at the end."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLONE = Path(__file__).resolve().parents[3]
_LOCK = "lock"


@contextmanager
def demo_folder() -> Iterator[Path]:
    """Nothing outside the clone is touched; an installed package has none, and takes the system's place."""
    place = _place()
    folder = Path(tempfile.mkdtemp(prefix="demo-" if place else "runnel-demo-", dir=place))
    folder.chmod(0o755)  # the server may run as another user than this process
    lock = (folder / _LOCK).open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)


def _place() -> Path | None:
    if not ((_CLONE / "pyproject.toml").is_file() and os.access(_CLONE, os.W_OK)):
        return None
    place = _CLONE / ".runnel"
    place.mkdir(exist_ok=True)
    (place / ".gitignore").write_text("*\n")
    _remove_abandoned(place)
    return place


def _remove_abandoned(place: Path) -> None:
    """What a killed demo left behind: nobody holds its lock any more."""
    for lock in place.glob(f"demo-*/{_LOCK}"):
        with lock.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(lock.parent, ignore_errors=True)
