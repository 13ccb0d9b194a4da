"""The lakes that a refresh reads: their newest snapshots as of S, and the files that hold what changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runnel.catalog import client
from runnel.catalog.client import Dependency
from runnel.catalog.connection import Connection
from runnel.errors import SchemaError, UserError
from runnel.lake.catalog import LakeCatalog
from runnel.lake.changes import change_tasks
from runnel.lake.files import scan_tasks
from runnel.relations import LakeTable


@dataclass(slots=True)
class Lakes:
    """The lakes of this database as the reader's snapshot sees their catalogs."""

    conn: Connection
    dsn: str
    pins: Mapping[int, int] = field(default_factory=dict)
    _catalogs: dict[int, LakeCatalog] = field(default_factory=dict)

    def newest(self, dependency: Dependency) -> int:
        """The newest snapshot, or the one that this refresh is pinned to."""
        pinned = self.pins.get(dependency.relid)
        return self._catalog(dependency).newest(self.conn).snapshot_id if pinned is None else pinned

    def table(self, dependency: Dependency, after: int | None, upto: int, *, whole: bool) -> LakeTable:
        """The relation between two snapshots; `whole` lists the files of a scan or lookup as well."""
        catalog = self._catalog(dependency)
        table = catalog.table(self.conn, dependency.lake_schema or "", dependency.lake_table or "", upto)
        changed = (
            change_tasks(self.conn, catalog, table, after, upto, dsn=self.dsn) if after is not None else []
        )
        scans = scan_tasks(self.conn, catalog, table, upto, dsn=self.dsn) if whole else []
        return LakeTable(upto, tuple(scans), after, tuple(changed))

    def changed(self, dependency: Dependency, upto: int) -> tuple[bool, str | None]:
        """Whether the table changed since it was consumed, or why only a whole read can tell."""
        if dependency.consumed is None:
            return True, None
        try:
            found = self.table(dependency, dependency.consumed, upto, whole=False)
        except SchemaError as error:
            return True, error.message
        return bool(found.changed), None

    def _catalog(self, dependency: Dependency) -> LakeCatalog:
        lake_id = dependency.lake_id or 0
        if lake_id not in self._catalogs:
            lake = next((lake for lake in client.load_lakes(self.conn) if lake.lake_id == lake_id), None)
            if lake is None:
                raise UserError(f"the lake of {dependency.schema}.{dependency.name} is not attached any more")
            self._catalogs[lake_id] = LakeCatalog(lake.metadata_schema)
        return self._catalogs[lake_id]
