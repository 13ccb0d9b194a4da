"""Starts `tests.oracle.engine` in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]


def run_engine(
    dsn: str,
    ids: Iterable[int],
    *rounds: dict[str, str],
    master: str = "local[1]",
    kill_at: str | None = None,
) -> dict[str, Any] | None:
    """What the engine printed; None where it was killed as asked."""
    request = json.dumps({"dsn": dsn, "ids": list(ids), "master": master, "rounds": rounds or [{}]})
    path = os.pathsep.join([*os.environ.get("PYTHONPATH", "").split(os.pathsep), str(_ROOT)]).strip(
        os.pathsep
    )
    done = subprocess.run(
        [sys.executable, "-m", "tests.oracle.engine", request],
        env={**os.environ, "PYTHONPATH": path, **({"RUNNEL_KILL_AT": kill_at} if kill_at else {})},
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )
    if kill_at:
        assert done.returncode == -9, f"{kill_at} was not reached: {done.stdout}\n{done.stderr[-3000:]}"
        return None
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
