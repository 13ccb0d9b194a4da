"""Makes the Spark session as small jobs want it: unix sockets, one partition, no adaptive planning."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from runnel.errors import UserError
from runnel.servers import find_java

# Measured: the socket halves the price of a job; adaptive planning and many partitions multiply it.
_OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.locality.wait": "0",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def create_session(
    app_name: str = "runnel", *, master: str = "local[2]", options: Mapping[str, str] | None = None
) -> SparkSession:
    """A session on `master`; the folder for warehouse and sockets is short-lived and has a short path."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("JAVA_HOME", str(find_java().parent.parent))
    folder = Path(tempfile.mkdtemp(prefix="runnel-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings: dict[str, bool | float | int | str | None] = {
        **_OPTIONS,
        "spark.python.unix.domain.socket.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.jars.ivy": str(folder / "ivy"),
        **(options or {}),
    }
    try:
        return SparkSession.builder.appName(app_name).master(master).config(map=settings).getOrCreate()
    except Exception as error:
        # whatever the launcher says, the usual cause is a Java that is missing or too old
        raise UserError(
            "Spark cannot be started",
            detail=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint="Spark needs Java 17 or newer: install it, or point JAVA_HOME at it",
        ) from error
