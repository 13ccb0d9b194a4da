"""One database for the contract of all relations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.oracle.databases import shared_database

from runnel.servers import EmbeddedPostgres


@pytest.fixture(scope="module")
def shared_db(pg: EmbeddedPostgres) -> Iterator[str]:
    with shared_database(pg) as dsn:
        yield dsn
