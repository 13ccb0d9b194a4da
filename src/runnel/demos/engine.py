"""The engine of the demo: the one that `runnel run` runs, in a thread beside the display."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from runnel.api import Runnel
from runnel.scheduler import OnEvent


@dataclass(slots=True)
class EngineThread:
    """Spark starts in this thread too: in the main one its session would take Ctrl-C for itself."""

    rn: Runnel
    on_event: OnEvent
    _stop: threading.Event = field(default_factory=threading.Event)
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "demo-engine"))
    _running: Future[None] | None = None

    def prepare(self) -> None:
        self._pool.submit(self.rn.prepare).result()

    def start(self) -> None:
        self._running = self._pool.submit(self.rn.run, self._stop, self.on_event)

    def check(self) -> None:
        """Raises what ended it."""
        if self._running is not None and self._running.done():
            self._running.result()

    def stop(self) -> None:
        """Returns when the refresh under way has ended."""
        self._stop.set()
        self._pool.shutdown()
