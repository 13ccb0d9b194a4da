"""Runnel keeps SQL query results fresh, in PostgreSQL and in the lake, by computing only what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runnel.api import connect

__version__ = "0.1.0"

__all__ = ["__version__", "connect"]


def __getattr__(name: str) -> Any:
    """`runnel.connect` is looked up when it is asked for: importing any room must not import all of them."""
    if name == "connect":
        from runnel.api import connect  # noqa: PLC0415

        return connect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
