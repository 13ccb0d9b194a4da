"""The Spark session of a run that was given none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from runnel.spark.session import create_session

# So many tasks run side by side even on a small machine: the workers mostly wait for the catalog.
_FEWEST_WORKERS = 3


@contextmanager
def borrowed_session() -> Iterator[SparkSession]:
    """The session that is there already, which stays; else one of our own, which ends with the run."""
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    session = create_session("runnel playbook", master=f"local[{max(_FEWEST_WORKERS, os.cpu_count() or 1)}]")
    try:
        yield session
    finally:
        session.stop()
