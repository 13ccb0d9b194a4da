"""Versioned relations: tables, stream tables and lake tables answer the same three questions."""

from runnel.relations.contract import Relation
from runnel.relations.lake import LakeTable
from runnel.relations.postgres import PostgresTable
from runnel.relations.read import Connections, Parameter, PostgresRead, Read, Reader, leaf_schema
from runnel.relations.stream import StreamRelation

__all__ = [
    "Connections",
    "LakeTable",
    "Parameter",
    "PostgresRead",
    "PostgresTable",
    "Read",
    "Reader",
    "Relation",
    "StreamRelation",
    "leaf_schema",
]
