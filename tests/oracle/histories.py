"""A random history as data: tables, stream tables, and what sessions do between refreshes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from tests.oracle.queries import Relation, StreamQuery, keys_of, make_query
from tests.oracle.tables import SESSIONS, Action, Table, Writer, insert_rows, make_table

_KEY_TYPES = (
    ("integer", "bigint"), ("bigint", "smallint"), ("text", "varchar(12)"), ("numeric", "numeric(10,2)"),
    ("date", "date"),
    ("timestamp without time zone", "integer"), ("timestamp with time zone", "text"), ("boolean", "bigint"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """What happens before one refresh, and which stream tables that refresh is asked for."""

    actions: tuple[Action, ...]
    refreshed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class History:
    seed: int
    tables: tuple[Table, ...]
    filled: tuple[str, ...]
    queries: tuple[StreamQuery, ...]
    steps: tuple[Step, ...]

    def ancestors(self, name: str) -> set[str]:
        """The stream tables below one."""
        query = next(query for query in self.queries if query.name == name)
        names = {q.name for q in self.queries} & set(query.reads)
        return names.union(*(self.ancestors(other) for other in names)) if names else names

    def bases(self, name: str) -> set[str]:
        known = {query.name: query for query in self.queries}
        return {
            read
            for member in (name, *self.ancestors(name))
            for read in known[member].reads
            if read not in known
        }

    def only(self, name: str) -> History:
        """The history of one stream table and what it reads."""
        kept = {name, *self.ancestors(name)}
        steps = tuple(
            replace(step, refreshed=tuple(n for n in step.refreshed if n in kept)) for step in self.steps
        )
        return replace(self, queries=tuple(q for q in self.queries if q.name in kept), steps=steps)


def make_history(seed: int, *, steps: int = 4, streams: int = 5) -> History:
    rng = Random(seed)
    key_types = rng.choice(_KEY_TYPES)
    swapped = (key_types[1], key_types[0]) if rng.random() < 0.4 else key_types
    tables = (make_table(rng, "t1", key_types), make_table(rng, "t2", swapped))
    filled = tuple(insert_rows(rng, table, rng.randint(1, 9)) for table in tables if rng.random() < 0.6)
    queries = _queries(rng, tables, streams)
    writer = Writer(rng, tables)
    names = tuple(query.name for query in queries)
    made = tuple(_step(rng, writer, names) for _ in range(steps - 1))
    last = Step(_actions(rng, writer, ends=True), names)
    return History(seed, tables, filled, queries, (*made, last))


def _queries(rng: Random, tables: tuple[Table, ...], count: int) -> tuple[StreamQuery, ...]:
    relations = [
        Relation(t.name, tuple((c.name, c.type) for c in t.columns), ("k", "k2", "id")) for t in tables
    ]
    queries: list[StreamQuery] = []
    for number in range(1, count + 1):
        known = tuple(relations) if number > count // 2 else tuple(relations[: len(tables)])
        if number == count:
            known = tuple(relations[-3:])
        query = make_query(rng, f"s{number}", known)
        queries.append(query)
        relations.append(Relation(query.name, query.outputs, keys_of(query.outputs)))
    return tuple(queries)


def _step(rng: Random, writer: Writer, names: tuple[str, ...]) -> Step:
    everything = rng.random() < 0.6
    chosen = names if everything else tuple(name for name in names if rng.random() < 0.5)
    return Step(_actions(rng, writer, ends=False), chosen)


def _actions(rng: Random, writer: Writer, *, ends: bool) -> tuple[Action, ...]:
    """Statements of several sessions, interleaved; transactions may outlive the refresh that follows."""
    actions: list[Action] = []
    for _ in range(rng.randint(3, 9)):
        session = rng.randrange(SESSIONS)
        control = _CONTROLS.get(rng.randrange(12))
        if control:
            actions.append(Action(session, control.lower(), "", control))
        actions.append(writer.action(session))
    ended = [number for number in rng.sample(range(SESSIONS), SESSIONS) if ends or rng.random() < 0.6]
    words = ["ROLLBACK" if rng.random() < 0.2 else "COMMIT" for _ in ended]
    actions += [Action(number, word.lower(), "", word) for number, word in zip(ended, words, strict=True)]
    return tuple(actions)


# What a session may say between its statements; what does not fit its state is passed over.
_CONTROLS = {0: "BEGIN", 1: "BEGIN", 2: "BEGIN", 3: "SAVEPOINT", 4: "ROLLBACK TO", 5: "COMMIT", 6: "ROLLBACK"}
