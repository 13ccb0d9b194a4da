"""Named points at which a test may kill a refresh or a publication, as a power cut would, or hold it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from time import sleep

_KILL, _HOLD, _FILE = "RUNNEL_KILL_AT", "RUNNEL_HOLD_AT", "RUNNEL_HOLD_FILE"


def reached(point: str) -> None:
    """Ends this process here without any clean-up, or holds it, if the environment names this point."""
    if os.environ.get(_KILL) == point:
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ.get(_HOLD) == point:
        _hold(Path(os.environ[_FILE]))


def _hold(file: Path) -> None:
    """Makes the file, and goes on when somebody has removed it."""
    file.touch()
    while file.exists():
        sleep(0.005)
