"""Finding a Java is asked before anything is installed, so it must be right about old and broken ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runnel.errors import UserError
from runnel.servers import find_java, java


def _program(folder: Path, version_line: str) -> Path:
    program = folder / "java"
    folder.mkdir()
    program.write_text(f"#!/bin/sh\necho '{version_line}' >&2\n")
    program.chmod(0o755)
    return program


def test_the_java_of_this_machine_is_found_and_runs() -> None:
    subprocess.run([find_java(), "-version"], check=True, capture_output=True)


def test_old_broken_and_missing_ones_are_passed_over(tmp_path: Path) -> None:
    good = _program(tmp_path / "good", 'openjdk version "21.0.2" 2024-01-16')
    programs = [
        tmp_path / "nothing",
        _program(tmp_path / "broken", "Unable to locate a Java Runtime"),
        _program(tmp_path / "eight", 'java version "1.8.0_292"'),
        _program(tmp_path / "eleven", 'openjdk version "11.0.20" 2023-07-18'),
        good,
    ]
    assert find_java(programs) == good


def test_without_one_it_says_what_was_found_and_the_line_to_type(tmp_path: Path) -> None:
    eight = _program(tmp_path / "eight", 'java version "1.8.0_292"')
    with pytest.raises(UserError, match="no Java 17 or newer found") as caught:
        find_java([eight])
    assert caught.value.detail == f"{eight} is Java 8"
    assert caught.value.hint == java.install_hint()


def test_as_a_program_it_prints_the_path_with_nothing_installed() -> None:
    source = Path(java.__file__)
    run = subprocess.run(
        [sys.executable, "-P", "-S", str(source)],
        env={"PYTHONPATH": str(source.parents[2]), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(run.stdout.strip()).is_file()
