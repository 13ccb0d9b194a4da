"""A stream table as a versioned relation: its versions are refresh numbers, written in every row of its log.

The table as a reader sees it holds the newest refresh; an earlier one is that table minus what was logged since.
"""

from __future__ import annotations

from dataclasses import dataclass

from runnel.algebra import Leaf
from runnel.relations.read import Parameter, PostgresRead, Read, Reader
from runnel.relations.sql import WEIGHT, key_condition, logged, quote, select_leaf


@dataclass(frozen=True, slots=True)
class StreamRelation:
    reader: Reader
    pgt_id: int

    @property
    def _log(self) -> str:
        return f"pgtrickle_changes.stream_{self.pgt_id}"

    def changes(self, leaf: Leaf, after: int, upto: int, parts: int = 1) -> list[Read]:
        condition = "refresh_number > $1::bigint AND refresh_number <= $2::bigint"
        sql = select_leaf(leaf, logged(leaf, self._log, condition))
        return [PostgresRead(self.reader, sql, (after, upto))]

    def rows(self, leaf: Leaf, at: int, keys: tuple[Parameter, ...]) -> PostgresRead:
        after = len(leaf.keys) + 1
        sql = " UNION ALL ".join(self._versioned(leaf, after, key_condition(leaf)))
        return PostgresRead(self.reader, sql, (*keys, at))

    def scan(self, leaf: Leaf, at: int, parts: int = 1) -> list[Read]:
        return [PostgresRead(self.reader, " UNION ALL ".join(self._versioned(leaf, 1)), (at,))]

    def _versioned(self, leaf: Leaf, number: int, *conditions: str) -> tuple[str, str]:
        """The table, and minus what its log holds after the version in parameter `number`."""
        fields = [f"a{column.number} AS {quote(column.name)}" for column in leaf.used]
        since = f"SELECT {', '.join([*fields, f'-w AS {WEIGHT}'])} FROM {self._log}"
        later = f"({since} WHERE refresh_number > ${number}::bigint)"
        return (
            select_leaf(leaf, leaf.source.name, *conditions, weight="1::bigint"),
            select_leaf(leaf, later, *conditions),
        )
