"""Random source tables and what sessions do to them: every kind of DML that a trigger may see."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.oracle.values import TYPES, is_number, literal

SESSIONS = 3
_NAMES = ("v", "Val", "order", "a b", "größe", "x_1", "c1", "n")


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    is_key: bool = False

    @property
    def quoted(self) -> str:
        return f'"{self.name}"'


@dataclass(frozen=True, slots=True)
class Table:
    """`id` tells the rows apart (only usually, where there is no key), `k` and `k2` are what joins meet on."""

    name: str
    columns: tuple[Column, ...]
    has_key: bool

    @property
    def ddl(self) -> str:
        key = ", PRIMARY KEY (id)" if self.has_key else ""
        return f"CREATE TABLE {self.name} ({', '.join(f'{c.quoted} {c.type}' for c in self.columns)}{key})"

    @property
    def values(self) -> tuple[Column, ...]:
        return self.columns[1:]


@dataclass(frozen=True, slots=True)
class Action:
    """One statement of one session. `rows` are the lines of a COPY."""

    session: int
    kind: str
    table: str
    sql: str
    copied: str | None = None


def make_table(rng: Random, name: str, key_types: tuple[str, str]) -> Table:
    """Columns of random types behind id, k and k2."""
    names = rng.sample(_NAMES, rng.randint(2, 4))
    values = [Column(name, rng.choice(TYPES)) for name in names]
    if not any(is_number(column.type) for column in values):
        values[0] = Column(values[0].name, rng.choice(("integer", "bigint", "numeric(10,2)", "numeric")))
    keys = [Column("k", key_types[0], True), Column("k2", key_types[1], True)]
    return Table(name, (Column("id", rng.choice(("integer", "bigint"))), *keys, *values), rng.random() < 0.7)


def insert_rows(rng: Random, table: Table, count: int) -> str:
    rows = ", ".join(_row(rng, table, rng.randrange(1, 13) if not table.has_key else i) for i in _ids(count))
    return f"INSERT INTO {table.name} VALUES {rows}"


def _ids(count: int) -> range:
    return range(1, count + 1)


def _row(rng: Random, table: Table, number: int) -> str:
    values = [literal(rng, column.type, key=column.is_key) for column in table.values]
    return f"({', '.join([str(number), *values])})"


@dataclass(slots=True)
class Writer:
    """Makes the statements of one history; ids are shared out so that sessions rarely wait for each other."""

    rng: Random
    tables: tuple[Table, ...]
    fresh: int = 40

    def action(self, session: int) -> Action:
        table = self.rng.choice(self.tables)
        make = self.rng.choice(_KINDS)
        return make(self, session, table)

    def id(self, session: int) -> int:
        """An id of this session: a new one, or one that may be there (again)."""
        if self.rng.random() < 0.4:
            return SESSIONS * self.rng.randrange(1, 8) + session
        self.fresh += 1
        return SESSIONS * self.fresh + session

    def mine(self, session: int) -> str:
        """A condition that picks a few rows of this session."""
        own = f"id % {SESSIONS} = {session}"
        return own if self.rng.random() < 0.2 else f"{own} AND id <= {self.rng.choice((6, 10, 20, 60))}"

    def insert(self, session: int, table: Table) -> Action:
        rows = {self.id(session) for _ in range(self.rng.randint(1, 3))}
        values = ", ".join(_row(self.rng, table, number) for number in sorted(rows))
        return Action(session, "insert", table.name, f"INSERT INTO {table.name} VALUES {values}")

    def copy(self, session: int, table: Table) -> Action:
        """COPY takes its rows from a query, run by the same session just before."""
        rows = ", ".join(_row(self.rng, table, self.id(session)) for _ in range(2))
        return Action(session, "copy", table.name, f"COPY {table.name} FROM STDIN", f"VALUES {rows}")

    def upsert(self, session: int, table: Table) -> Action:
        if not table.has_key:
            return self.insert(session, table)
        column = self.rng.choice(table.values).quoted
        values = f"VALUES {_row(self.rng, table, self.id(session))}"
        action = f"DO UPDATE SET {column} = excluded.{column}" if self.rng.random() < 0.8 else "DO NOTHING"
        return Action(
            session, "on conflict", table.name, f"INSERT INTO {table.name} {values} ON CONFLICT (id) {action}"
        )

    def update(self, session: int, table: Table) -> Action:
        columns = self.rng.sample(table.values, self.rng.randint(1, 2))
        sets = ", ".join(f"{c.quoted} = {literal(self.rng, c.type, key=c.is_key)}" for c in columns)
        kind = "update key" if any(c.is_key for c in columns) else "update"
        return Action(session, kind, table.name, f"UPDATE {table.name} SET {sets} WHERE {self.mine(session)}")

    def update_nothing(self, session: int, table: Table) -> Action:
        column = self.rng.choice(table.values).quoted
        sql = f"UPDATE {table.name} SET {column} = {column} WHERE {self.mine(session)}"
        return Action(session, "update nothing", table.name, sql)

    def move(self, session: int, table: Table) -> Action:
        """The primary key itself changes, within the ids of this session."""
        sql = f"UPDATE {table.name} SET id = id + {SESSIONS * 500} WHERE {self.mine(session)} AND id < 1000"
        return Action(session, "update id", table.name, sql)

    def swap(self, session: int, table: Table) -> Action:
        """Two rows exchange their keys in one statement."""
        pair = f"(SELECT min(id) AS one, max(id) AS two FROM {table.name} WHERE {self.mine(session)})"
        sql = (
            f"UPDATE {table.name} AS t SET k = o.k FROM {table.name} AS o, {pair} AS p"
            " WHERE p.one <> p.two AND (t.id, o.id) IN ((p.one, p.two), (p.two, p.one))"
        )
        return Action(session, "swap", table.name, sql)

    def delete(self, session: int, table: Table) -> Action:
        return Action(session, "delete", table.name, f"DELETE FROM {table.name} WHERE {self.mine(session)}")

    def delete_equal(self, session: int, table: Table) -> Action:
        """One of several equal rows, where there is no key to tell them apart."""
        pick = f"SELECT ctid FROM {table.name} WHERE {self.mine(session)} LIMIT 1"
        return Action(
            session, "delete", table.name, f"DELETE FROM {table.name} WHERE ctid = ANY (ARRAY({pick}))"
        )

    def merge(self, session: int, table: Table) -> Action:
        names = ", ".join(column.quoted for column in table.columns)
        rows = ", ".join(
            _row(self.rng, table, number) for number in sorted({self.id(session), self.id(session)})
        )
        column = self.rng.choice(table.values).quoted
        inserted = ", ".join(f"s.{column.quoted}" for column in table.columns)
        sql = (
            f"MERGE INTO {table.name} AS t USING (VALUES {rows}) AS s({names}) ON t.id = s.id"
            f" WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET {column} = s.{column}"
            f" WHEN NOT MATCHED THEN INSERT VALUES ({inserted})"
        )
        return Action(session, "merge", table.name, sql)

    def truncate(self, session: int, table: Table) -> Action:
        """Rare, because what follows it is a FULL refresh."""
        if self.rng.random() < 0.75:
            return self.delete(session, table)
        return Action(session, "truncate", table.name, f"TRUNCATE {table.name}")


_KINDS = (Writer.insert, Writer.insert, Writer.insert, Writer.copy, Writer.upsert, Writer.update, Writer.update,
          Writer.update_nothing, Writer.move, Writer.swap, Writer.delete, Writer.delete_equal, Writer.merge,
          Writer.truncate)  # fmt: skip
