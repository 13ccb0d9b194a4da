"""What a lake's catalog says of its snapshots and tables, straight from PostgreSQL."""

from __future__ import annotations

from functools import partial
from typing import Any

from runnel.playbook.ducklake.dialect import Clamp
from runnel.playbook.ducklake.lake import Lake
from runnel.playbook.ducklake.pool import Session, instance
from runnel.playbook.ducklake.queries import query


def clamp_of(session: Session) -> Clamp:
    return partial(_clamp, session)


def _clamp(session: Session, first: int, last: int) -> tuple[int, int] | None:
    found = session.postgres.execute(
        query("clamp", session.lake.schema), {"first": first, "last": last}
    ).fetchone()
    if found is None or None in found or found[0] > found[1]:
        return None
    return int(found[0]), int(found[1])


def newest_snapshot(lake: Lake) -> int:
    row = instance(lake).postgres.execute(query("newest", lake.schema)).fetchone()
    return int(row[0]) if row else -1


def catalog_info(lake: Lake) -> dict[str, Any]:
    row = instance(lake).postgres.execute(query("catalog_info", lake.schema)).fetchone()
    count, latest, tables = row or (0, None, [])
    return {
        "catalog_name": lake.catalog_name,
        "metadata_schema": lake.schema,
        "data_path": lake.data_path,
        "snapshot_count": count,
        "latest_snapshot": latest,
        "table_count": len(tables),
        "tables": tables,
    }
