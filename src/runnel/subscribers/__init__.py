"""Subscribers of a stream table's change log: now the DuckLake sink."""

from runnel.subscribers.own_lake import ensure_lake
from runnel.subscribers.publish import Published, PublishedSnapshot, Publisher

__all__ = ["Published", "PublishedSnapshot", "Publisher", "ensure_lake"]
