"""Cutting SQL into DuckDB's own tokens, so that no rewriting ever looks inside a string or a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb

_WORD = re.compile(r'"(?:[^"]|"")*"|[\w$]+')
_STRING = re.compile(r"'(?:[^']|'')*'")


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    start: int
    is_string: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """The token in upper case as keywords compare; a quoted name or a string is no keyword."""
        return "" if self.is_string or self.text.startswith('"') else self.text.upper()


@dataclass(frozen=True, slots=True)
class Edit:
    start: int
    end: int
    text: str


def tokens_of(sql: str) -> tuple[Token, ...]:
    found = duckdb.tokenize(sql)
    ends = [*(offset for offset, _ in found), len(sql)][1:]
    return tuple(
        _token(sql[start:end], start, kind)
        for (start, kind), end in zip(found, ends, strict=True)
        if kind != duckdb.token_type.comment
    )


def _token(piece: str, start: int, kind: duckdb.token_type) -> Token:
    """DuckDB gives where a token starts; what follows up to the next one may be blanks and comments."""
    if kind == duckdb.token_type.string_const:
        match = _STRING.match(piece)
        return Token(match.group() if match else piece.rstrip(), start, is_string=True)
    match = _WORD.match(piece)
    if match:
        return Token(match.group(), start)
    return Token(piece[0] if piece[0] in "(),;[]{}" else piece.split(maxsplit=1)[0], start)


def split(sql: str) -> Iterator[str]:
    """The statements of a text, from their first token to their last; comments alone are none."""
    begin: int | None = None
    last = 0
    for token in tokens_of(sql):
        if token.text == ";" and not token.is_string:
            if begin is not None:
                yield sql[begin:last]
            begin = None
        elif begin is None:
            begin = token.start
        last = token.end
    if begin is not None:
        yield sql[begin:last]


def closing(tokens: Sequence[Token], opening: int) -> int:
    """The index of the parenthesis that closes the one at `opening` (or the last token if none does)."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += (tokens[index].text in ("(", "[", "{")) - (tokens[index].text in (")", "]", "}"))
        if depth == 0:
            return index
    return len(tokens) - 1


def commas(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The parts of a list between the commas of its own level."""
    begin, index = 0, 0
    while index < len(tokens):
        if tokens[index].text == ",":
            yield tokens[begin:index]
            begin = index + 1
        elif tokens[index].text in ("(", "[", "{"):
            index = closing(tokens, index)
        index += 1
    yield tokens[begin:]


def apply(sql: str, edits: Sequence[Edit]) -> str:
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        sql = sql[: edit.start] + edit.text + sql[edit.end :]
    return sql
