"""Relational algebra: the frozen nodes that the frontend makes and the delta compiler reads."""

from runnel.algebra.nodes import (
    Aggregate,
    AggregateCall,
    Bag,
    Column,
    Expr,
    Join,
    Leaf,
    LeafColumn,
    Output,
    Query,
    Source,
    SourceKind,
)
from runnel.algebra.types import SqlType

__all__ = [
    "Aggregate",
    "AggregateCall",
    "Bag",
    "Column",
    "Expr",
    "Join",
    "Leaf",
    "LeafColumn",
    "Output",
    "Query",
    "Source",
    "SourceKind",
    "SqlType",
]
