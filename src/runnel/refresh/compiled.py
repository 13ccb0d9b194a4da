"""Compiles a stream table once per generation: canonical text, types and functions from PostgreSQL itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from psycopg import pq

from runnel.algebra import Column, Output, Query, Source, SqlType
from runnel.catalog import client
from runnel.catalog.client import Dependency, StreamTable
from runnel.catalog.connection import Connection
from runnel.delta import DeltaProgram, Target, compile_query, quote
from runnel.errors import InternalError, SchemaError, Unsupported, UserError
from runnel.frontend import Function, View, read_query, reason
from runnel.refresh.model import Compiled

_FUNCTIONS = r"""
SELECT p.oid::pg_catalog.regprocedure::text, p.proname::text, p.prokind::text, p.provolatile::text, p.proretset
FROM (SELECT DISTINCT (pg_catalog.regexp_matches(ev_action::text,
             ':(?:funcid|opfuncid|aggfnoid|winfnoid) (\d+)', 'g'))[1]::oid AS id
      FROM pg_catalog.pg_rewrite WHERE ev_class = %s) AS used
JOIN pg_catalog.pg_proc AS p ON p.oid = used.id
"""


_DEFAULT_COLLATION = 100


Shape = tuple[object, ...]


@dataclass(slots=True)
class Programs:
    """The compiled stream tables; one is compiled again where it was altered, or a relation's names changed."""

    known: dict[int, tuple[Shape, Compiled]] = field(default_factory=dict)

    def get(self, conn: Connection, table: StreamTable) -> Compiled:
        shape = _shape(table)
        found = self.known.get(table.pgt_id)
        if found is None or found[0] != shape:
            found = self.known[table.pgt_id] = (shape, compile_table(conn, table))
        return found[1]


def _shape(table: StreamTable) -> Shape:
    """All that a program's text is made from."""
    relations = [(d.schema, d.name, d.columns) for d in table.dependencies]
    return (table.generation, table.schema, table.name, table.columns, relations)


def compile_table(conn: Connection, table: StreamTable) -> Compiled:
    """Its program; under AUTO a construct without a rule is a reason for FULL, under DIFFERENTIAL an error."""
    if not table.exists:
        raise SchemaError(
            f"stream table {table.pgt_id} has lost its result table or its hidden view",
            hint="drop it with pgtrickle.drop_stream_table and create it again",
        )
    target = target_of(table)
    if table.refresh_mode == "FULL":
        return Compiled(table, target, _program(conn, table, target)[0], "refresh_mode is FULL")
    program, why = _program(conn, table, target)
    if why and table.refresh_mode == "DIFFERENTIAL":
        raise UserError(
            f"stream table {table.qualified_name} cannot be maintained incrementally: {why}",
            hint="write the query without it, or choose refresh_mode => 'AUTO'",
        )
    return Compiled(table, target, program, why)


def _program(conn: Connection, table: StreamTable, target: Target) -> tuple[DeltaProgram | None, str | None]:
    try:
        return compile_query(query_of(conn, table), target), None
    except Unsupported as unsupported:
        return None, reason(table.query, unsupported)


def query_of(conn: Connection, table: StreamTable) -> Query:
    """Its query as algebra; Unsupported where the frontend cannot say it."""
    return read_query(_view(conn, table), lambda sql: describe(conn, sql))


def _view(conn: Connection, table: StreamTable) -> View:
    functions = conn.execute(_FUNCTIONS, [table.view_relid]).fetchall()
    return View(
        definition=client.view_definition(conn, table.view_relid),
        query=table.query,
        outputs=_outputs(table),
        sources={(d.schema or "", d.name or ""): _source(d) for d in table.dependencies},
        functions=tuple(Function(*row) for row in functions),
        collated=frozenset(
            (d.relid, c.name)
            for d in table.dependencies
            for c in d.columns
            if c.collation_oid not in (0, _DEFAULT_COLLATION)
        ),
    )


def target_of(table: StreamTable) -> Target:
    return Target(table.pgt_id, table.schema or "", table.name or "", _outputs(table))


def _outputs(table: StreamTable) -> tuple[Output, ...]:
    return tuple(Output(column.name, SqlType(column.type)) for column in table.columns)


def _source(dependency: Dependency) -> Source:
    columns = tuple(Column(c.name, SqlType(c.type), c.attnum) for c in dependency.columns)
    name = relation_name(dependency.schema, dependency.name)
    return Source(dependency.name or "", dependency.relid, dependency.kind, name, columns)


def relation_name(schema: str | None, name: str | None) -> str:
    return f"{quote(schema or '')}.{quote(name or '')}"


def describe(conn: Connection, sql: str) -> tuple[SqlType, ...]:
    """The types of a query's columns, without running it."""
    with conn.transaction():
        conn.execute("SET LOCAL search_path = pg_catalog")
        prepared = conn.pgconn.prepare(b"", sql.encode())
        if prepared.status != pq.ExecStatus.COMMAND_OK:
            raise InternalError(
                "PostgreSQL cannot read a generated query", detail=prepared.get_error_message()
            )
        described = conn.pgconn.describe_prepared(b"")
        found = [(described.ftype(i), described.fmod(i)) for i in range(described.nfields)]
        rows = [conn.execute("SELECT pg_catalog.format_type(%s, %s)", pair).fetchone() for pair in found]
    return tuple(SqlType(row[0]) for row in rows if row)
