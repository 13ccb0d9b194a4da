"""A lake in a fresh database, and DuckDB's own extension attached to it as the judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from tests.integration.lake.judge import Lake

from runnel.lake.catalog import LakeCatalog, create_lake


@pytest.fixture
def lake(database: str, tmp_path: Path, connect: Callable[..., psycopg.Connection[Any]]) -> Iterator[Lake]:
    path = str(tmp_path / "data")
    create_lake(database, "ducklake", path)
    with Lake(database, path, LakeCatalog("ducklake"), connect(database)) as found:
        yield found


@pytest.fixture
def judge(lake: Lake) -> duckdb.DuckDBPyConnection:
    return lake.attach()
