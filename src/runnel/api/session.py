"""The Spark session of whoever did not bring one: made when it is first needed, gone with its folder."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runnel.servers import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_session(master: str) -> SparkSession:
    """On the Java that is found here, which need not be the one on the PATH."""
    # pyspark takes longer to import than most commands take to run
    from runnel.spark.session import create_session  # noqa: PLC0415

    os.environ["JAVA_HOME"] = str(find_java().parent.parent)
    with _silent_java():
        return create_session("runnel", master=master)


def end_session(spark: SparkSession) -> None:
    folder = spark.conf.get("spark.local.dir")
    spark.stop()
    if folder and Path(folder).name.startswith("runnel-"):
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _silent_java() -> Iterator[None]:
    """A Java started inside writes nowhere, all its life: neither its greetings nor Spark's are for our user.

    Its errors come back as exceptions. RUNNEL_DEBUG=1 lets it speak.
    """
    if os.environ.get("RUNNEL_DEBUG"):
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
