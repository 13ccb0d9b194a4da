"""The servers that demos and tests bring along, so that nothing but Java has to be installed."""

from runnel.servers.binaries import postgres_binaries
from runnel.servers.java import find_java
from runnel.servers.postgres import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "find_java", "postgres_binaries"]
