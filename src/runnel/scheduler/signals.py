"""Turns Ctrl-C and SIGTERM into a clean end: first a request, and a second later what still runs is dropped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_GRACE_SECONDS = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_signals(stop: threading.Event, grace: float = _GRACE_SECONDS) -> Iterator[None]:
    """In the main thread only. A refresh that is dropped in its midst has simply not happened."""
    main = threading.get_ident()
    timer = threading.Timer(grace, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.daemon = True

    def ask(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        timer.start()

    previous = {number: signal.signal(number, ask) for number in _SIGNALS}
    try:
        yield
    except KeyboardInterrupt:
        if not stop.is_set():
            raise
    finally:
        timer.cancel()
        for number, handler in previous.items():
            signal.signal(number, handler)
