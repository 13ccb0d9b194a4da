"""The edge of the command: whatever goes wrong becomes one clear message on stderr and an exit code."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable

from runnel.errors import RunnelError

DEBUG = "RUNNEL_DEBUG"


def guarded(command: Callable[[], None]) -> int:
    """Runs it; usage errors leave with 2 by themselves. With RUNNEL_DEBUG=1 an error shows its origin."""
    if not os.environ.get(DEBUG):
        # Ctrl-C may come while a statement runs: that its rollback then fails too is no news
        logging.getLogger("psycopg").setLevel(logging.ERROR)
    try:
        command()
    except BrokenPipeError:
        # whoever read our output has left; python would complain again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        print(told(error), file=sys.stderr)
    return 1


def told(error: Exception) -> str:
    """`error: …`, and where they help `detail: …` and `hint: …`."""
    if isinstance(error, RunnelError):
        return f"error: {error}"
    first = (str(error).splitlines() or [""])[0]
    return f"error: {type(error).__name__}: {first}\nhint: {DEBUG}=1 shows where it comes from"
