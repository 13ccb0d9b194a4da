"""The DeltaProgram: everything that a refresh will run, as data that can be read before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runnel.algebra import Leaf, Output

Gear = Literal["first", "second"]

STAGED = "@staged@"
NUMBER = "@number@"


@dataclass(frozen=True, slots=True)
class Target:
    """The stream table that a program maintains."""

    pgt_id: int
    schema: str
    name: str
    outputs: tuple[Output, ...]

    @property
    def result(self) -> str:
        return f"{quote(self.schema)}.{quote(self.name)}"

    def index(self, purpose: str) -> str:
        """The name of an index of ours on the result."""
        return f"pgt_{self.pgt_id}_{purpose}"

    def drop_index(self, purpose: str) -> Statement:
        return Statement("key", f"DROP INDEX IF EXISTS {quote(self.schema)}.{self.index(purpose)}")

    @property
    def log(self) -> str:
        return f"pgtrickle_changes.stream_{self.pgt_id}"

    @property
    def state(self) -> str:
        return f"pgtrickle_state.s_{self.pgt_id}"

    @property
    def staged(self) -> str:
        return f"pgtrickle_state.staged_{self.pgt_id}"

    def multiset(self, number: int) -> str:
        return f"pgtrickle_state.m_{self.pgt_id}_{number}"


@dataclass(frozen=True, slots=True)
class Field:
    """A column of the staged rows: by position, carried as bigint or text."""

    name: str
    carrier: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One apply statement; `@staged@` stands for the staged rows, `@number@` for the refresh number."""

    purpose: str
    sql: str


@dataclass(frozen=True, slots=True)
class Lookup:
    """Rows of `leaf` (as of the new frontier) whose keys occur in the delta of `by`."""

    leaf: int
    by: int


@dataclass(frozen=True, slots=True)
class DeltaProgram:
    """Leaves, lookups, one combine query for a delta and one for a fill, and the apply statements."""

    target: Target
    leaves: tuple[Leaf, ...]
    lookups: tuple[Lookup, ...]
    combine_delta: str
    combine_full: str
    staged: tuple[Field, ...]
    setup: tuple[Statement, ...]
    apply_delta: tuple[Statement, ...]
    apply_full: tuple[Statement, ...]

    def render(self, statement: Statement, gear: Gear) -> str:
        """The statement's text as it goes to the server, parameters numbered."""
        before = 0
        if STAGED in statement.sql:
            before = len(self.staged) if gear == "first" else 1
        sql = statement.sql.replace(STAGED, staged_relation(self, gear))
        return sql.replace(NUMBER, f"${before + 1}::bigint")


def staged_relation(program: DeltaProgram, gear: Gear) -> str:
    """First gear passes the staged rows as arrays; second gear names the attempts whose rows count."""
    names = ", ".join(field.name for field in program.staged)
    if gear == "second":
        return f"(SELECT {names} FROM {program.target.staged} WHERE tag = ANY($1::text[])) AS staged"
    arrays = ", ".join(f"${i}::{field.carrier}[]" for i, field in enumerate(program.staged, 1))
    return f"unnest({arrays}) AS staged({names})"


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def columns(target: Target, prefix: str = "") -> str:
    """The result's columns by name."""
    return ", ".join(f"{prefix}{quote(output.name)}" for output in target.outputs)


def positions(target: Target, prefix: str = "") -> str:
    """The result's columns by position: no user's name can collide with ours."""
    return ", ".join(f"{prefix}c{i}" for i in range(1, len(target.outputs) + 1))
