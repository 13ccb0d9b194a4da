"""A database that a whole module of rules shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.oracle.databases import shared_database

from runnel.servers import EmbeddedPostgres


@pytest.fixture(scope="module")
def shared_db(pg: EmbeddedPostgres) -> Iterator[str]:
    with shared_database(pg) as dsn:
        yield dsn
