"""Computes the attempts of a level: first gear together in one Spark job, the others one by one."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from runnel.catalog.connection import Connection
from runnel.engine import Answer, delta_job, full_job, run_first, run_full, run_second
from runnel.errors import InternalError
from runnel.refresh.full import evaluate
from runnel.refresh.model import Attempt


def first_gear(spark: SparkSession, attempts: Sequence[Attempt], limit: int) -> None:
    """One Spark job for all; an attempt that meets too many rows goes on in second gear."""
    jobs = []
    for number, attempt in enumerate(attempts):
        assert attempt.compiled.program is not None
        make = full_job if attempt.mode == "FULL" else delta_job
        jobs.append(make(number, attempt.name, attempt.compiled.program, attempt.inputs, limit))
    label = f"refresh {', '.join(attempt.name for attempt in attempts)}"
    with attempts[0].timed("compute"):
        answers = run_first(spark, jobs, label)
    for number, attempt in enumerate(attempts):
        attempt.phases["compute"] = attempts[0].phases["compute"]
        _take(attempt, answers[number])


def _take(attempt: Attempt, answer: Answer) -> None:
    match answer.outcome:
        case "done":
            attempt.rows, attempt.rows_in = answer.rows, answer.rows_in
        case "overflow":
            attempt.gear = "second"
        case _:
            attempt.error = InternalError(f"{attempt.name} could not be computed", detail=answer.message)


def second_gear(spark: SparkSession, attempt: Attempt, dsn: str) -> None:
    program = attempt.compiled.program
    assert program is not None
    run_id, table = str(attempt.refresh_id), program.target.staged
    with attempt.timed("compute"):
        if attempt.mode == "FULL":
            job = full_job(0, attempt.name, program, attempt.inputs, 0)
            attempt.staged = run_full(spark, job, dsn, table, run_id)
        else:
            job = delta_job(0, attempt.name, program, attempt.inputs, 0)
            attempt.staged = run_second(spark, job, dsn, table, run_id)


def by_postgres(conn: Connection, attempt: Attempt, query: str, exported: str) -> None:
    with attempt.timed("compute"):
        evaluate(conn, attempt, query, exported)
