"""The SQL that playbooks are written in, made into what DuckDB's ducklake extension understands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb

from runnel.playbook.ducklake.constraints import without_constraints
from runnel.playbook.ducklake.tokens import Edit, Token, apply, closing, commas, split, tokens_of

# Settings of ours that commands read with current_setting(); DuckDB knows only its own.
VARIABLES = ("worker_id", "execution_id", "step")

_CHANGE_FUNCTIONS = frozenset(
    f"{prefix}{name}".upper()
    for prefix in ("", "ducklake_")
    for name in ("table_changes", "table_insertions", "table_deletions")
)
_READING = frozenset({"SELECT", "EXPLAIN"})
_WRITING = frozenset(
    {"INSERT", "UPDATE", "DELETE", "MERGE_INTO", "CREATE", "CREATE_FUNC", "ALTER", "DROP", "COPY"}
)
# Keywords that may follow a table: any other word there is the table's alias.
_AFTER_TABLE = frozenset(
    """ANTI ASOF CROSS EXCEPT FROM FULL GROUP HAVING INNER INTERSECT JOIN LEFT LIMIT NATURAL OFFSET ON ORDER
    POSITIONAL QUALIFY RIGHT SAMPLE SELECT SEMI SET TABLESAMPLE UNION USING WHERE WINDOW""".split()  # noqa: SIM905
)

# The nearest snapshots that live at or after the first and at or before the second id.
Clamp = Callable[[int, int], tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as DuckDB will run it."""

    sql: str
    kind: str

    @property
    def reads_only(self) -> bool:
        return self.kind in _READING

    @property
    def atomic(self) -> bool:
        """Whether it may be one of several statements in a transaction of ours."""
        return self.kind in _READING or self.kind in _WRITING


@dataclass(frozen=True, slots=True)
class Translation:
    statements: tuple[Statement, ...]
    warnings: tuple[str, ...] = ()


def translate(command: str, clamp: Clamp) -> Translation:
    statements: list[Statement] = []
    warnings: list[str] = []
    for text in split(command):
        sql, notes = _translate_one(text, clamp)
        warnings.extend(notes)
        statements.extend(
            Statement(each.query.strip(), each.type.name) for each in duckdb.extract_statements(sql)
        )
    return Translation(tuple(statements), tuple(warnings))


def _translate_one(sql: str, clamp: Clamp) -> tuple[str, list[str]]:
    tokens = tokens_of(sql)
    words = frozenset(token.word for token in tokens)
    edits: list[Edit] = []
    warnings: list[str] = []
    if "CURRENT_SETTING" in words:
        edits += _variables(tokens)
    if "SYSTEM_TIME" in words:
        edits += _time_travel(sql, tokens)
    if words & _CHANGE_FUNCTIONS:
        edits += _clamped(tokens, clamp, warnings)
    if "DUCKLAKE_CLEANUP_OLD_FILES" in words and not words & {"OLDER_THAN", "CLEANUP_ALL"}:
        warnings.append(
            "ducklake_cleanup_old_files deletes only files scheduled for deletion long ago: "
            "add cleanup_all => true or older_than => a time"
        )
    sql, dropped = without_constraints(apply(sql, edits))
    return sql, [*warnings, *dropped]


def _variables(tokens: Sequence[Token]) -> list[Edit]:
    """current_setting('worker_id') reads a variable that each session sets."""
    edits = []
    for name, opening, argument in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if name.word != "CURRENT_SETTING" or opening.text != "(" or not argument.is_string:
            continue
        if argument.text.strip("'").lower() in VARIABLES:
            edits.append(Edit(name.start, name.end, "getvariable"))
            edits.append(Edit(argument.start, argument.end, argument.text.lower()))
    return edits


def _time_travel(sql: str, tokens: Sequence[Token]) -> list[Edit]:
    """FOR SYSTEM_TIME AS OF … is AT (…), which comes after the table's alias instead of before it."""
    edits = []
    for index, token in enumerate(tokens):
        words = [each.word for each in tokens[index : index + 4]]
        if token.word != "FOR" or words != ["FOR", "SYSTEM_TIME", "AS", "OF"] or index + 4 >= len(tokens):
            continue
        point, last = _point(tokens, index + 4)
        alias, end = _alias(sql, tokens, last)
        edits.append(Edit(token.start, tokens[end].end, f"{alias}AT ({point})"))
    return edits


def _point(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    if tokens[at].word in ("SNAPSHOT", "VERSION") and at + 1 < len(tokens):
        return f"VERSION => {tokens[at + 1].text}", at + 1
    if tokens[at].word in ("TIMESTAMP", "TIMESTAMPTZ") and at + 1 < len(tokens):
        at += 1
    kind = "VERSION => " if tokens[at].text.isdigit() else "TIMESTAMP => TIMESTAMPTZ "
    return kind + tokens[at].text, at


def _alias(sql: str, tokens: Sequence[Token], last: int) -> tuple[str, int]:
    at = last + 1
    if at + 1 < len(tokens) and tokens[at].word == "AS":
        at += 1
    elif at >= len(tokens) or not _names_a_table(tokens[at]):
        return "", last
    return sql[tokens[last].end : tokens[at].end].strip() + " ", at


def _names_a_table(token: Token) -> bool:
    if token.is_string:
        return False
    return token.text.startswith('"') or (token.text.isidentifier() and token.word not in _AFTER_TABLE)


def _clamped(tokens: Sequence[Token], clamp: Clamp, warnings: list[str]) -> list[Edit]:
    """A change feed fails unless both its ends exist: they move inwards to snapshots that live."""
    edits: list[Edit] = []
    for index, token in enumerate(tokens[:-1]):
        if token.word not in _CHANGE_FUNCTIONS or tokens[index + 1].text != "(":
            continue
        arguments = list(commas(tokens[index + 2 : closing(tokens, index + 1)]))
        ends = [part[0] for part in arguments[-2:] if len(part) == 1 and part[0].text.isdigit()]
        if len(ends) != 2:
            continue
        first, last = int(ends[0].text), int(ends[1].text)
        living = clamp(first, last)
        if living is not None and living != (first, last):
            edits += [Edit(end.start, end.end, str(to)) for end, to in zip(ends, living, strict=True)]
            warnings.append(f"snapshots {first} to {last}: the lake has {living[0]} to {living[1]} of them")
    return edits
