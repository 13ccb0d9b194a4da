"""Verify: refresh, let PostgreSQL evaluate the query at the same snapshot, and compare row by row.

No delta rule is involved in PostgreSQL's side, and the comparison runs under the stream table's row lock at the
very refresh number that was evaluated: the answer is exact under writes too.
"""

from __future__ import annotations

from dataclasses import dataclass

from runnel.algebra import Output
from runnel.catalog import client
from runnel.catalog.client import StreamTable
from runnel.catalog.connection import Connection
from runnel.delta import Target, quote
from runnel.errors import TransientError, UserError
from runnel.lake.spec import uuid7
from runnel.refresh import plan
from runnel.refresh.compiled import target_of
from runnel.refresh.full import query_at, stage_query
from runnel.refresh.lake_copy import LakeCopies, lake_copies
from runnel.refresh.model import Outcome
from runnel.refresh.reader import open_reader
from runnel.refresh.round import Refresher, Round

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a stream table compares with its query at its frontier; samples are at most ten rows, as text."""

    name: str
    refresh_number: int
    rows: int
    missing: int
    extra: int
    missing_sample: tuple[str, ...]
    extra_sample: tuple[str, ...]
    refresh: Outcome | None

    @property
    def ok(self) -> bool:
        return self.missing == 0 and self.extra == 0


def verify(refresher: Refresher, pgt_id: int) -> Verdict:
    for _ in range(_ATTEMPTS):
        verdict = _verify_once(refresher, pgt_id)
        if verdict is not None:
            return verdict
    raise TransientError(
        "the stream table was refreshed by another engine during each attempt to verify it",
        hint="stop the other engine, or try again",
    )


def _verify_once(refresher: Refresher, pgt_id: int) -> Verdict | None:
    control = refresher.connection("control")
    tables = {table.pgt_id: table for table in client.load_stream_tables(control)}
    if pgt_id not in tables:
        raise UserError(f"there is no stream table with the id {pgt_id}")
    with lake_copies(control, refresher.spark, refresher.dsn, tables, pgt_id) as copies:
        return _verify_with(refresher, tables, pgt_id, copies)


def _verify_with(
    refresher: Refresher, tables: dict[int, StreamTable], pgt_id: int, copies: LakeCopies
) -> Verdict | None:
    control = refresher.connection("control")
    chosen = plan.together(tables, [pgt_id])
    locked = [tables[i] for i in chosen]
    with open_reader(refresher.connection("reader"), locked, refresher.options.lock_timeout_ms) as reader:
        round_ = Round(refresher, reader, chosen, set(), lake_pins=copies.pins)
        outcomes = {outcome.pgt_id: outcome for outcome in round_.run()}
        outcome = outcomes.get(pgt_id)
        if outcome is not None and outcome.error is not None:
            raise outcome.error
        table = round_.tables.get(pgt_id)
        number = outcome.refresh_number if outcome else None
        if table is None or not number:
            raise UserError(
                f"{tables[pgt_id].qualified_name} has never been filled",
                hint="resume it if it is suspended, and see pgtrickle.pgt_status() for the reason",
            )
        query = query_at(control, round_.tables, pgt_id, round_.numbers, copies.queries)
        content = stage_query(refresher.connection("full"), table, query, reader.exported, uuid7().hex)
    return _compare(refresher.connection("apply"), table, content, number, outcome)


def _compare(
    conn: Connection, table: StreamTable, content: str, number: int, outcome: Outcome | None
) -> Verdict | None:
    """None where somebody refreshed it after the evaluation."""
    target = target_of(table)
    with conn.transaction():
        row = conn.execute(
            "SELECT refresh_number FROM pgtrickle.pgt_stream_tables WHERE pgt_id = %s FOR NO KEY UPDATE",
            [table.pgt_id],
        ).fetchone()
        stands = row is not None and row[0] == number
        verdict = _difference(conn, table, target, content, number, outcome) if stands else None
        conn.execute(f"DROP TABLE {content}".encode())
    return verdict


def _difference(
    conn: Connection, table: StreamTable, target: Target, content: str, number: int, outcome: Outcome | None
) -> Verdict:
    wanted = _texts([f"c{i}" for i in range(1, len(target.outputs) + 1)], target.outputs, content)
    present = _texts([quote(output.name) for output in target.outputs], target.outputs, target.result)
    missing, missing_sample = _minus(conn, wanted, present)
    extra, extra_sample = _minus(conn, present, wanted)
    rows = conn.execute(f"SELECT count(*) FROM {target.result}".encode()).fetchone()
    return Verdict(
        table.qualified_name,
        number,
        rows[0] if rows else 0,
        missing,
        extra,
        missing_sample,
        extra_sample,
        outcome,
    )


def _texts(names: list[str], outputs: tuple[Output, ...], relation: str) -> str:
    """Each row as text; where equal values have several forms of one type, in one form."""
    fields = [_text(name, output) for name, output in zip(names, outputs, strict=True)]
    return f"SELECT ROW({', '.join(fields)})::text AS t FROM {relation}"


def _text(name: str, output: Output) -> str:
    match output.type.text:
        case "numeric":
            return f"trim_scale({name})::text"
        case "real" | "double precision":
            return f"to_char({name}, '9.99999999EEEE')"
        case _:
            return f"{name}::text"


def _minus(conn: Connection, left: str, right: str) -> tuple[int, tuple[str, ...]]:
    rows = conn.execute(
        f"SELECT t, count(*) OVER () FROM ({left} EXCEPT ALL {right}) AS q LIMIT 10".encode()
    ).fetchall()
    return (rows[0][1] if rows else 0), tuple(row[0] for row in rows)
