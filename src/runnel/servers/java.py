"""Finds a Java that Spark can run on; also a program, so that `make setup` asks the same question.

It needs only the standard library and the error tree: setup runs it before anything is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from runnel.errors import UserError

OLDEST = 17

_PLACES = (
    "/usr/lib/jvm/*/bin/java",
    "/usr/java/*/bin/java",
    "/opt/java/*/bin/java",
    "/opt/*/bin/java",
    "/opt/homebrew/opt/openjdk*/bin/java",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java",
    "~/.sdkman/candidates/java/*/bin/java",
)
# One line per package manager; the first that is there is the one to name.
_INSTALL = (
    ("apt-get", "apt-get install -y --no-install-recommends {apt}"),
    ("dnf", "dnf install -y java-21-openjdk-headless"),
    ("zypper", "zypper install -y java-21-openjdk-headless"),
    ("pacman", "pacman -S --noconfirm jre21-openjdk-headless"),
    ("brew", "brew install openjdk@21"),
)
_APT_PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless")


def find_java(programs: Iterable[Path] | None = None) -> Path:
    """The first `java` that Spark can run on; looks at JAVA_HOME, PATH and the usual places unless told."""
    found: list[str] = []
    for program in _candidates() if programs is None else programs:
        version = _major_version(program)
        if version is not None and version >= OLDEST:
            return program
        if version is not None:
            found.append(f"{program} is Java {version}")
    raise UserError(
        f"no Java {OLDEST} or newer found",
        detail="; ".join(found) or "looked at JAVA_HOME, PATH and the usual places",
        hint=install_hint(),
    )


def install_hint() -> str:
    line = install_command()
    return f"type: {line}" if line else f"install Java {OLDEST} or newer and set JAVA_HOME"


def install_command() -> str | None:
    """The one line to type on this machine; None where its package manager is not known."""
    for program, line in _INSTALL:
        if shutil.which(program):
            sudo = "sudo " if os.geteuid() != 0 and program != "brew" else ""
            return sudo + line.format(apt=_apt_package())
    return None


def _candidates() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve()
    for pattern in _PLACES:
        top = Path(pattern).expanduser()
        yield from sorted(Path(top.anchor).glob(str(top.relative_to(top.anchor))), reverse=True)


def _major_version(program: Path) -> int | None:
    """17 for `openjdk version "17.0.15"`, 8 for `java version "1.8.0"`; None for what does not run."""
    try:
        run = subprocess.run(
            [program, "-version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', run.stderr + run.stdout)
    return int(match.group(1)) if match else None


def _apt_package() -> str:
    """The first package that this release of the system knows: their names change with its age."""
    for package in _APT_PACKAGES:
        known = subprocess.run(["apt-cache", "show", package], capture_output=True, stdin=subprocess.DEVNULL)
        if known.returncode == 0:
            return package
    return _APT_PACKAGES[-1]


def main() -> int:
    """Print the program found, or what to do about it; with `--install-command` only the line to type."""
    if "--install-command" in sys.argv[1:]:
        print(install_command() or "")
        return 0
    try:
        print(find_java())
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
