"""The Spark session of whoever did not bring one: made when it is first needed, gone with its folder."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runnel.servers import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class OwnSession:
    spark: SparkSession
    folder: Path

    def end(self) -> None:
        # a Java that was killed, perhaps for its memory, cannot be asked to end
        with suppress(Exception):
            self.spark.stop()
        if self.folder.name.startswith("runnel-"):
            shutil.rmtree(self.folder, ignore_errors=True)


def start_session(master: str) -> OwnSession:
    """On the Java that is found here, which need not be the one on the PATH."""
    # pyspark takes longer to import than most commands take to run
    from runnel.spark.session import create_session  # noqa: PLC0415

    os.environ["JAVA_HOME"] = str(find_java().parent.parent)
    with _silent_java():
        spark = create_session("runnel", master=master)
    return OwnSession(spark, Path(spark.conf.get("spark.local.dir") or ""))


@contextmanager
def _silent_java() -> Iterator[None]:
    """A Java started inside writes nowhere, all its life: neither its greetings nor Spark's are for our user.

    Its errors come back as exceptions, its death too, which pyspark would print as well. RUNNEL_DEBUG=1 lets
    all of them speak.
    """
    if os.environ.get("RUNNEL_DEBUG"):
        yield
        return
    from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer  # noqa: PLC0415

    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
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
