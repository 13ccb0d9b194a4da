"""Interprets DeltaPrograms in two gears; in both, rows are combined in Spark's tasks."""

from runnel.engine.first import Answer
from runnel.engine.first import run as run_first
from runnel.engine.job import Input, Job, delta_job, full_job
from runnel.engine.second import StagedRows, run_full
from runnel.engine.second import run_delta as run_second

__all__ = [
    "Answer",
    "Input",
    "Job",
    "StagedRows",
    "delta_job",
    "full_job",
    "run_first",
    "run_full",
    "run_second",
]
