"""Takes out of the lake what belonged to a sink that is no more: its view and the tables below it.

Older snapshots keep both, so time travel still shows what was published, until they are expired.
"""

from __future__ import annotations

import psycopg

from runnel.catalog.client import DroppedSink, dropped_sinks, load_lakes
from runnel.catalog.connection import Connection
from runnel.catalog.install import package_version
from runnel.errors import RunnelError, SchemaError
from runnel.lake.catalog import LakeCatalog
from runnel.lake.commit import Change, Commit, DropTable, commit
from runnel.lake.spec import ViewDefinition
from runnel.lake.view import drop_view
from runnel.subscribers.failures import as_runnel_error
from runnel.subscribers.layout import sink_view, table_ids
from runnel.subscribers.queries import run


def remove_dropped(conn: Connection) -> int:
    """How many sinks were removed; one that fails holds up no other, and is raised at the end."""
    schemas = {lake.lake_id: lake.metadata_schema for lake in load_lakes(conn)}
    removed, failure = 0, None
    for dropped in dropped_sinks(conn):
        try:
            removed += _remove(conn, LakeCatalog(schemas[dropped.lake_id]), dropped)
        except (RunnelError, psycopg.Error) as error:
            failure = failure or as_runnel_error(error)
    if failure is not None:
        raise failure
    return removed


def _remove(conn: Connection, catalog: LakeCatalog, dropped: DroppedSink) -> bool:
    with conn.transaction():
        if not run(conn, "forget_dropped", id=dropped.dropped_id):
            return False  # another engine was first
        if view := _view_of(conn, catalog, dropped):
            changes = _removal(conn, catalog, view)
            author = f"pg_trickle/{package_version()}/stream_table/{view.name.name}"
            message = f"{view.name} is published no longer"
            commit(conn, catalog, lambda *_: Commit(changes), author=author, message=message)
        return True


def _view_of(conn: Connection, catalog: LakeCatalog, dropped: DroppedSink) -> ViewDefinition | None:
    try:
        with conn.transaction():
            return sink_view(conn, catalog, dropped.pgt_id, dropped.relid)
    except SchemaError:
        return None  # the lake itself is gone


def _removal(conn: Connection, catalog: LakeCatalog, view: ViewDefinition) -> tuple[Change, ...]:
    at = catalog.newest(conn).snapshot_id
    tables = (catalog.find_by_uuid(conn, uuid, at) for uuid in table_ids(view).values())
    return (
        drop_view(view.name.schema, view.name.name),
        *(DropTable(table) for table in tables if table is not None),
    )
