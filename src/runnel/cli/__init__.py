"""The command `runnel`."""

from runnel.cli.app import main

__all__ = ["main"]
