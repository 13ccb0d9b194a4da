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
    [(low, high)] = session.ask(query("clamp", session.lake.schema), {"first": first, "last": last})
    return None if low is None or high is None or low > high else (int(low), int(high))


def newest_snapshot(lake: Lake) -> int:
    [(newest,)] = instance(lake).ask(query("newest", lake.schema))
    return int(newest)


def catalog_info(lake: Lake) -> dict[str, Any]:
    [(count, latest, tables)] = instance(lake).ask(query("catalog_info", lake.schema))
    return {
        "catalog_name": lake.catalog_name,
        "metadata_schema": lake.schema,
        "data_path": lake.data_path,
        "snapshot_count": count,
        "latest_snapshot": latest,
        "table_count": len(tables),
        "tables": tables,
    }
