"""Runnel keeps SQL query results fresh, in PostgreSQL and in the lake, by computing only what changed."""

__version__ = "0.1.0"
