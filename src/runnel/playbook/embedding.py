"""A catalog database and a data path of a run's own, for whoever has neither."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from runnel.playbook.ducklake import pool
from runnel.servers import EmbeddedPostgres


@dataclass(frozen=True, slots=True)
class EmbeddedCatalog:
    """What `run_playbook` takes as `dsn` and `data_path`."""

    dsn: str = field(repr=False)
    data_path: Path


@contextmanager
def embedded_catalog(folder: Path | None = None) -> Iterator[EmbeddedCatalog]:
    """A server that runs inside the block; its lakes stay in `folder`, without one they go with the block."""
    with ExitStack() as held:
        if folder is None:
            folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="runnel-playbook-")))
        yield held.enter_context(_serving(folder))


@contextmanager
def _serving(folder: Path) -> Iterator[EmbeddedCatalog]:
    with EmbeddedPostgres(folder / "postgres") as server:
        try:
            yield EmbeddedCatalog(server.dsn, folder / "lake")
        finally:
            pool.close_all()
