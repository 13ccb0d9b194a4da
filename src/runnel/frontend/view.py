"""What the catalog knows of a stream table's query: all that the frontend needs beside the text itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runnel.algebra import Output, Source, SqlType

# The types of expressions over a FROM clause, as PostgreSQL itself resolves them.
Describe = Callable[[str], tuple[SqlType, ...]]


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the view calls, directly or through an operator or a cast."""

    signature: str
    name: str
    kind: str
    volatility: str
    returns_set: bool


@dataclass(frozen=True, slots=True)
class View:
    """The hidden view: canonical text, result columns, sources by (schema, name), functions in use.

    `collated` holds the source columns whose collation is not the database's own.
    """

    definition: str
    query: str
    outputs: tuple[Output, ...]
    sources: dict[tuple[str, str], Source]
    functions: tuple[Function, ...]
    collated: frozenset[tuple[int, str]] = frozenset()
