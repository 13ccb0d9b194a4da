"""Where a lake's files lie; now the local file system, object stores later behind the same functions."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from runnel.errors import UserError


def join(base: str, path: str, is_relative: bool = True) -> str:
    """A path of the catalog, resolved below `base` unless it stands on its own."""
    return base.rstrip("/") + "/" + path if is_relative else path


def require_local(path: str) -> str:
    """The path, or a refusal of every store that cannot be reached yet."""
    if "://" in path:
        raise UserError(
            f"the data path {path.split('?', maxsplit=1)[0]} is not on the local file system",
            hint="object stores are not supported yet; give a directory",
        )
    return path


def make_directory(path: str) -> None:
    """Makes sure that files can be written below `path`."""
    try:
        Path(require_local(path)).mkdir(parents=True, exist_ok=True)
        is_writable = os.access(path, os.W_OK | os.X_OK)
    except OSError as error:
        raise _not_writable(path, error.strerror) from error
    if not is_writable:
        raise _not_writable(path, "permission denied")


def remove(path: str) -> None:
    """Removes a file that nobody knows; one that cannot be removed is left to the lake's clean-up."""
    with suppress(OSError):
        Path(path).unlink(missing_ok=True)


def _not_writable(path: str, reason: str | None) -> UserError:
    return UserError(
        f"the data path {path} cannot be written",
        detail=reason,
        hint="give a directory that the engine's operating system user may write",
    )
