"""Makes an attempt ready to be computed: what changed, which mode, which gear, which inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runnel.catalog import client
from runnel.catalog.client import StreamTable
from runnel.catalog.connection import Connection
from runnel.errors import SchemaError, UserError
from runnel.refresh import plan
from runnel.refresh.changes import Changed, pages_of, stream_changes, table_changes
from runnel.refresh.inputs import Versions, bind
from runnel.refresh.lakes import Lakes
from runnel.refresh.model import Attempt, Options
from runnel.refresh.reader import OpenReader
from runnel.refresh.setup import ensure_setup
from runnel.relations import Reader

# A whole read of so few pages is tried in first gear; its limit on rows stands.
_FEW_PAGES = 200


@dataclass(frozen=True, slots=True)
class Scene:
    """What a round knows when it turns to a level: the catalog as of S, and what it has refreshed so far.

    `stale` holds the stream tables that this round could not bring to S.
    """

    dsn: str
    reader: OpenReader
    streams: OpenReader
    control: Connection
    tables: Mapping[int, StreamTable]
    numbers: Mapping[int, int]
    stale: frozenset[int]
    full: frozenset[int]
    lakes: Lakes
    options: Options
    counted: dict[tuple[int | None, str], Changed] = field(default_factory=dict)

    def table_changes(self, dependency: client.Dependency, old: str) -> Changed:
        """Counted once for all stream tables that stand at the same frontier."""
        place = (dependency.capture_id, old)
        if place not in self.counted:
            new, limit = self.reader.snapshot, self.options.first_gear_rows
            self.counted[place] = table_changes(self.reader.conn, dependency, old, new, limit)
        return self.counted[place]


class NothingToDo(Exception):
    """This stream table stays as it is in this round; `waits` if it would have had to move."""

    def __init__(self, *, waits: bool = False) -> None:
        super().__init__()
        self.waits = waits


def prepare(scene: Scene, attempt: Attempt) -> None:
    """Runs the steps in order; raises NothingToDo where the stream table stays as it is."""
    for step in STEPS:
        step(scene, attempt)


def respect_pause(_: Scene, attempt: Attempt) -> None:
    if attempt.table.status == "suspended":
        raise NothingToDo(waits=True)


def await_upstreams(scene: Scene, attempt: Attempt) -> None:
    """In a diamond nothing may mix versions: its whole family stands at S, or it waits."""
    table = attempt.table
    family = plan.ancestors(scene.tables, table.pgt_id)
    if family & scene.stale and plan.has_diamond(scene.tables, table.pgt_id):
        raise NothingToDo(waits=True)


def pin_versions(scene: Scene, attempt: Attempt) -> None:
    """The refresh number that is read of each upstream, the snapshot of each lake."""
    for dependency in attempt.table.dependencies:
        if dependency.kind == "lake":
            attempt.consumed[dependency.relid] = scene.lakes.newest(dependency)
        elif dependency.upstream_id is not None:
            upstream = scene.tables[dependency.upstream_id]
            number = scene.numbers.get(upstream.pgt_id, upstream.refresh_number)
            if number == 0 or not (upstream.is_populated or upstream.pgt_id in scene.numbers):
                raise NothingToDo(waits=True)
            attempt.consumed[dependency.relid] = number


def detect_changes(scene: Scene, attempt: Attempt) -> None:
    """Counts what is new; nothing new means no refresh, no record, no Spark job."""
    table = attempt.table
    if not table.is_populated:
        attempt.full_reason = "first fill"
        return
    changes = [change for d in table.dependencies for change in _changes(scene, table, d, attempt)]
    if table.pgt_id in scene.full:
        attempt.full_reason = "asked for"
    elif all(change.rows == 0 and not change.truncated for change in changes):
        raise NothingToDo
    elif any(change.truncated for change in changes):
        attempt.full_reason = attempt.full_reason or "a source was truncated"
    attempt.rows_in = sum(change.rows for change in changes)


def _changes(
    scene: Scene, table: StreamTable, dependency: client.Dependency, attempt: Attempt
) -> list[Changed]:
    limit = scene.options.first_gear_rows
    match dependency.kind:
        case "table":
            return [scene.table_changes(dependency, table.frontier or "")]
        case "stream":
            upto = attempt.consumed[dependency.relid]
            return [stream_changes(scene.streams.conn, dependency, upto, limit)]
        case "lake":
            changed, why = scene.lakes.changed(dependency, attempt.consumed[dependency.relid])
            attempt.full_reason = attempt.full_reason or why
            return [Changed(int(changed), why is not None)]


def check_owner(scene: Scene, attempt: Attempt) -> None:
    """The owner's rights, as of S."""
    problem = client.check_rights(scene.reader.conn, attempt.table.pgt_id)
    if problem:
        raise SchemaError(problem)


def choose_gear(scene: Scene, attempt: Attempt) -> None:
    compiled, options = attempt.compiled, scene.options
    attempt.reason = compiled.reason or attempt.full_reason
    attempt.mode = "FULL" if attempt.reason else "DIFFERENTIAL"
    if compiled.program is None:
        _require_no_lake(attempt)
        attempt.gear = None
        return
    if attempt.mode == "FULL":
        attempt.pages = pages_of(scene.reader.conn, attempt.table)
        few = sum(attempt.pages.values()) <= _FEW_PAGES
    else:
        few = attempt.rows_in <= options.first_gear_rows
    attempt.gear = options.gear or ("first" if few else "second")


def _require_no_lake(attempt: Attempt) -> None:
    """FULL without a program is PostgreSQL's own evaluation, and PostgreSQL cannot read a lake."""
    lakes = [d for d in attempt.table.dependencies if d.kind == "lake"]
    if lakes:
        raise UserError(
            f"{attempt.name} reads {lakes[0].schema}.{lakes[0].name} of a lake; its query cannot run on Spark",
            detail=attempt.compiled.reason,
            hint="write the query without that construct",
        )


def bind_inputs(scene: Scene, attempt: Attempt) -> None:
    program, table = attempt.compiled.program, attempt.table
    if program is None:
        return
    settings = tuple(sorted(table.settings.items()))
    full = attempt.mode == "FULL"
    versions = Versions(
        base=Reader(scene.dsn, scene.reader.exported, settings),
        streams=Reader(scene.dsn, scene.streams.exported, settings),
        snapshot=scene.reader.snapshot,
        pinned=attempt.consumed,
        pages=attempt.pages,
        lakes=scene.lakes,
        full=full,
    )
    attempt.inputs = bind(program, table, versions)


def make_tables(scene: Scene, attempt: Attempt) -> None:
    if not attempt.table.is_populated:
        ensure_setup(scene.control, attempt.compiled, scene.options.lock_timeout_ms)


STEPS = (
    respect_pause,
    await_upstreams,
    pin_versions,
    detect_changes,
    check_owner,
    choose_gear,
    bind_inputs,
    make_tables,
)
