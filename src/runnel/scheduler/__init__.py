"""The loop that keeps stream tables fresh."""

from runnel.scheduler.background import Sinks
from runnel.scheduler.engine import Engine
from runnel.scheduler.events import Event, OnEvent, silent
from runnel.scheduler.signals import stop_on_signals

__all__ = ["Engine", "Event", "OnEvent", "Sinks", "silent", "stop_on_signals"]
