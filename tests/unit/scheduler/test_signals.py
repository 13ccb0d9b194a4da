"""Ctrl-C in a process of its own: asks first, and drops after its grace what does not end by itself."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

_PROGRAM = """
import signal, sys, threading, time
from runnel.scheduler.signals import stop_on_signals
stop = threading.Event()
with stop_on_signals(stop, grace=0.5):
    print("ready", flush=True)
    {work}
print("stopped" if stop.is_set() else "not stopped")
assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("work", ["stop.wait(60)", "time.sleep(60)"], ids=["listens", "does not listen"])
def test_it_ends_cleanly(number: signal.Signals, work: str) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM.format(work=work)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    begun = time.monotonic()
    program.send_signal(number)
    out, err = program.communicate(timeout=30)
    assert (program.returncode, out, err) == (0, "stopped\n", "")
    assert time.monotonic() - begun < 20
