"""CREATE TABLE as users write it for a database, made into one that a lake accepts.

A lake enforces NOT NULL and nothing else: a primary key becomes NOT NULL, every other constraint is dropped,
and each of it is told to the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from runnel.playbook.ducklake.tokens import Edit, Token, apply, closing, commas, tokens_of

_TABLE_LEVEL = ("PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "CONSTRAINT")


@dataclass(slots=True)
class _Rewriting:
    """What is gathered while the elements of one table are read."""

    table: str
    edits: list[Edit] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    kept: list[Sequence[Token]] = field(default_factory=list)

    def drop(self, what: str, where: str) -> None:
        self.warnings.append(f"{what} of {where} was dropped: a lake does not enforce it")


def without_constraints(sql: str) -> tuple[str, tuple[str, ...]]:
    """The statement without constraints that a lake refuses, and what to tell the user about them."""
    tokens = tokens_of(sql)
    opening = _column_list(tokens)
    if opening is None:
        return sql, ()
    end = closing(tokens, opening)
    work = _Rewriting(table=tokens[opening - 1].text)
    for element in commas(tokens[opening + 1 : end]):
        _element(element, work)
    if not work.warnings:
        return sql, ()
    _require_keys(work)
    columns = ", ".join(_text(sql, element, work.edits) for element in work.kept)
    return f"{sql[: tokens[opening].end]}{columns}{sql[tokens[end].start :]}", tuple(work.warnings)


def _column_list(tokens: Sequence[Token]) -> int | None:
    """The parenthesis that opens the columns of CREATE TABLE; None for anything else."""
    words = [token.word for token in tokens]
    if words[:1] != ["CREATE"]:
        return None
    at = 3 if words[1:3] == ["OR", "REPLACE"] else 1
    if words[at : at + 1] != ["TABLE"]:
        return None  # also TEMP tables, which are DuckDB's own and keep their constraints
    at += 4 if words[at + 1 : at + 4] == ["IF", "NOT", "EXISTS"] else 1
    while at + 1 < len(tokens) and tokens[at + 1].text == ".":
        at += 2
    return at + 1 if at + 1 < len(tokens) and tokens[at + 1].text == "(" else None


def _element(element: Sequence[Token], work: _Rewriting) -> None:
    if not element:
        return
    if element[0].word in _TABLE_LEVEL:
        _table_constraint(element, work)
    else:
        work.kept.append(element)
        _column_constraints(element, work)


def _table_constraint(element: Sequence[Token], work: _Rewriting) -> None:
    at = 2 if element[0].word == "CONSTRAINT" else 0
    kind = element[at].word
    columns = ""
    if kind != "CHECK":
        opening = next(i for i, token in enumerate(element) if token.text == "(")
        names = [part[0].text for part in commas(element[opening + 1 : closing(element, opening)]) if part]
        columns = f" ({', '.join(names)})"
        if kind == "PRIMARY":
            work.keys.extend(names)
            work.warnings.append(
                f"PRIMARY KEY{columns} of {work.table} became NOT NULL: a lake enforces no key"
            )
            return
    work.drop({"FOREIGN": "FOREIGN KEY"}.get(kind, kind) + columns, work.table)


def _column_constraints(element: Sequence[Token], work: _Rewriting) -> None:
    column, at = f"{work.table}.{element[0].text}", 1
    while at < len(element):
        begin, word = at, element[at].word
        match word:
            case "CONSTRAINT":
                work.edits.append(Edit(element[at].start, element[at + 1].end, ""))
                at += 2
                continue
            case "PRIMARY":
                at += 1
                work.edits.append(Edit(element[begin].start, element[at].end, "NOT NULL"))
                work.warnings.append(f"PRIMARY KEY of {column} became NOT NULL: a lake enforces no key")
            case "UNIQUE" | "CHECK" | "REFERENCES":
                at = _constraint_end(element, at)
                work.edits.append(Edit(element[begin].start, element[at].end, ""))
                work.drop(word, column)
            case _ if element[at].text in ("(", "["):
                at = closing(element, at)
        at += 1


def _constraint_end(element: Sequence[Token], at: int) -> int:
    """The last token of UNIQUE, CHECK (…) or REFERENCES t (c) ON DELETE …"""
    if element[at].word == "UNIQUE":
        return at
    if element[at].word == "REFERENCES":
        at += 1
        while at + 2 < len(element) and element[at + 1].text == ".":
            at += 2
    if at + 1 < len(element) and element[at + 1].text == "(":
        at = closing(element, at + 1)
    while at + 2 < len(element) and element[at + 1].word == "ON":
        at += 4 if element[at + 3].word in ("SET", "NO") else 3
    return at


def _require_keys(work: _Rewriting) -> None:
    for element in work.kept:
        if element[0].text in work.keys:
            work.edits.append(Edit(element[-1].end, element[-1].end, " NOT NULL"))


def _text(sql: str, element: Sequence[Token], edits: Sequence[Edit]) -> str:
    start, end = element[0].start, element[-1].end
    own = [
        Edit(edit.start - start, edit.end - start, edit.text)
        for edit in edits
        if start <= edit.start and edit.end <= end
    ]
    return apply(sql[start:end], own).rstrip()
