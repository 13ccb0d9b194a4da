"""Runnable stories, each also an acceptance test."""

from runnel.demos.orders_to_lake import run

__all__ = ["run"]
