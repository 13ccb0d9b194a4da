"""Algebra → DeltaProgram, by passes that can be read in one tuple."""

from __future__ import annotations

from dataclasses import dataclass, replace

from runnel.algebra import Aggregate, Bag, Column, Expr, Query
from runnel.delta import combine, join
from runnel.delta.aggregate import AggregateStage
from runnel.delta.bag import BagStage
from runnel.delta.difference import replace_content
from runnel.delta.inputs import grouped_inputs, hashed, raw_inputs
from runnel.delta.measures import Measure, measures
from runnel.delta.placement import Placement, lateral, place, raw_columns
from runnel.delta.program import DeltaProgram, Field, Lookup, Statement, Target
from runnel.errors import Unsupported

_MOST_KEYS = 32


@dataclass(frozen=True, slots=True)
class Draft:
    """A program in the making: each pass fills what the next one reads."""

    query: Query
    target: Target
    placement: Placement | None = None
    stage: AggregateStage | BagStage | None = None
    staged: tuple[Field, ...] = ()
    grouping: combine.Grouping | None = None


def compile_query(query: Query, target: Target) -> DeltaProgram:
    draft = Draft(query, target)
    for each in PASSES:
        draft = each(draft)
    return _program(draft)


def check_keys(draft: Draft) -> Draft:
    """An index holds at most 32 columns."""
    root = draft.query.root
    if isinstance(root, Aggregate) and len(root.keys) > _MOST_KEYS:
        raise Unsupported(f"a GROUP BY of more than {_MOST_KEYS} keys", token="GROUP")
    return draft


def place_expressions(draft: Draft) -> Draft:
    return replace(draft, placement=place(draft.query))


def build_stage(draft: Draft) -> Draft:
    """The stateful root above the block, and the columns that it needs from the leaves."""
    assert draft.placement is not None
    match draft.query.root:
        case Bag() as root:
            return _bag(draft, draft.placement, root)
        case Aggregate() as root if draft.placement.grouped:
            return _grouped(draft, draft.placement, root)
        case Aggregate() as root:
            return _raw(draft, draft.placement, root)


PASSES = (check_keys, place_expressions, build_stage)


def _bag(draft: Draft, placement: Placement, root: Bag) -> Draft:
    raw = raw_columns(placement, [*root.outputs, *placement.residual])
    stage = BagStage(draft.target, root, lateral(raw), placement.residual)
    return replace(draft, stage=stage, staged=_raw_fields(raw, placement))


def _raw(draft: Draft, placement: Placement, root: Aggregate) -> Draft:
    found = measures(root.calls)
    arguments = [call.argument for call in root.calls if call.argument is not None]
    raw = raw_columns(placement, [*root.keys, *arguments, *placement.residual])
    inputs = [*raw_inputs(root, found, lateral(raw), placement.residual), *hashed(root, found)]
    stage = AggregateStage(draft.target, root, found, inputs)
    return replace(draft, stage=stage, staged=_raw_fields(raw, placement))


def _grouped(draft: Draft, placement: Placement, root: Aggregate) -> Draft:
    found = measures(root.calls)
    keys = tuple(Field(_carry_key(placement, key), key.type.carrier) for key in root.keys)
    arguments = tuple((measure, _carry_argument(placement, measure)) for measure in found)
    grouping = combine.Grouping(keys, arguments)
    inputs = [*grouped_inputs(root, found), *hashed(root, found)]
    stage = AggregateStage(draft.target, root, found, inputs)
    return replace(draft, stage=stage, staged=grouping.staged, grouping=grouping)


def _carry_key(placement: Placement, key: Expr) -> str:
    return placement.add(placement.owner(key), key.type.canonical(key.sql), key.type.carrier, key)


def _carry_argument(placement: Placement, measure: Measure) -> str | None:
    argument = measure.call.argument
    if argument is None:
        return None
    leaf = placement.owner(argument)
    return placement.add(leaf, measure.carried_value(argument.sql), argument.type.carrier, argument)


def _raw_fields(raw: dict[str, list[tuple[str, Column]]], placement: Placement) -> tuple[Field, ...]:
    names = {name for items in raw.values() for name, _ in items}
    columns = [column for leaf in placement.leaves for column in leaf.columns if column.name in names]
    return combine.raw_staged(tuple(Field(column.name, column.carrier) for column in columns))


def _program(draft: Draft) -> DeltaProgram:
    assert draft.placement is not None and draft.stage is not None
    leaves = tuple(leaf.build() for leaf in draft.placement.leaves)
    delta, full = join.joined_delta(leaves), join.joined_full(leaves)
    if draft.grouping is not None:
        combined = (combine.grouped(delta, draft.grouping), combine.grouped(full, draft.grouping))
    else:
        combined = (combine.raw(delta, draft.staged[:-1]), combine.raw(full, draft.staged[:-1]))
    return DeltaProgram(
        target=draft.target,
        leaves=leaves,
        lookups=(Lookup(1, 0), Lookup(0, 1)) if len(leaves) > 1 else (),
        combine_delta=combined[0],
        combine_full=combined[1],
        staged=draft.staged,
        setup=(_staged_table(draft), *draft.stage.setup()),
        apply_delta=tuple(draft.stage.apply_delta()),
        apply_full=tuple(_fill(draft.target, draft.stage)),
    )


def _fill(target: Target, stage: AggregateStage | BagStage) -> list[Statement]:
    if isinstance(stage, BagStage):
        return replace_content(target, stage.content())
    return [*stage.rebuild_state(), *replace_content(target, stage.final_rows())]


def log_setup(target: Target) -> tuple[Statement, ...]:
    """The change log that every stream table has, whatever its mode."""
    columns = "".join(f", a{i} {output.type.text}" for i, output in enumerate(target.outputs, 1))
    table = f"CREATE TABLE {target.log} (refresh_number bigint NOT NULL, w bigint NOT NULL{columns})"
    return (Statement("log", table), Statement("log", f"CREATE INDEX ON {target.log} (refresh_number)"))


def _staged_table(draft: Draft) -> Statement:
    """Where executors leave the rows of second gear: each attempt under its own tag."""
    columns = ", ".join(f"{field.name} {field.carrier}" for field in draft.staged)
    return Statement("staged", f"CREATE UNLOGGED TABLE {draft.target.staged} (tag text, {columns})")
