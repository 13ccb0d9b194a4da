"""README and docs tell the truth: their SQL is run and prints what they show, their links and commands exist.

A block of `sql` is run by PostgreSQL with an engine beside it, one of `sql duckdb` by a plain DuckDB, one of `python`
here; a block of `text` after it is what the last statement prints. The page is one session, from top to bottom.
"""

from __future__ import annotations

import contextlib
import io
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import psycopg
import pytest
import typer
from psycopg import postgres

import runnel
from runnel.cli.app import app
from runnel.lake.duck import extension_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")

_BLOCK = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_NUMBERS = frozenset(postgres.types[name].oid for name in ("int2", "int4", "int8", "numeric", "float8"))


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    text: str


def _blocks(page: Path) -> list[Block]:
    return [Block(found["kind"].strip(), found["text"]) for found in _BLOCK.finditer(page.read_text("utf-8"))]


def test_the_readme_is_short() -> None:
    lines = README.read_text("utf-8").splitlines()
    assert len(lines) <= 120
    first = next(block for block in _blocks(README) if block.kind == "sql")
    assert len(first.text.splitlines()) in range(8, 12)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_linked_exists(page: Path) -> None:
    for found in _LINK.finditer(_BLOCK.sub("", page.read_text("utf-8"))):
        target = found["target"].partition("#")[0]
        if target and not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_to_be_typed_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for block in _blocks(page):
        for line in block.text.splitlines() if block.kind in ("", "sh") else ():
            words = line.partition("#")[0].split()
            if words[:1] == ["make"] and len(words) > 1:
                assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), line
            elif words and Path(words[0]).name == "runnel":
                _check_command(words[1:])


def _check_command(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        assert words[0] in command.commands, f"there is no command runnel {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    known = {option for parameter in command.params for option in parameter.opts}
    for word in words:
        assert not word.startswith("-") or word.partition("=")[0] in known, f"{command.name} has no {word}"


def test_the_readme_shows_what_happens(session: Session) -> None:
    session.run(README)


@pytest.mark.parametrize("name", ["quickstart", "concepts", "architecture"])
def test_the_docs_show_what_happens(session: Session, name: str) -> None:
    session.run(ROOT / "docs" / f"{name}.md")


class Session:
    """A reader of one page, with a database, an engine that runs, a DuckDB and a Spark session."""

    def __init__(self, dsn: str, spark: SparkSession, rn: runnel.api.Runnel) -> None:
        self.dsn, self.spark, self.rn = dsn, spark, rn
        self.conn = psycopg.connect(dsn, autocommit=True, options="-c timezone=UTC")
        self.duck = duckdb.connect()
        for name in ("postgres_scanner", "ducklake"):
            self.duck.load_extension(extension_path(name))
        self.shown = ""

    def run(self, page: Path) -> None:
        kinds: dict[str, Callable[[str], str]] = {
            "sql": self._postgresql,
            "sql duckdb": self._duckdb,
            "python": self._python,
        }
        for block in _blocks(page):
            if block.kind == "text":
                assert _stripped(self.shown) == _stripped(block.text), f"{page.name}:\n{self.shown}"
            elif block.kind in kinds:
                self.shown = kinds[block.kind](block.text)
                self._settle()

    def close(self) -> None:
        self.conn.close()
        self.duck.close()

    def _postgresql(self, text: str) -> str:
        for statement in _statements(text):
            cursor = self.conn.execute(statement.encode())
        if cursor.description is None:
            return ""
        names = [column.name for column in cursor.description]
        numbers = [column.type_code in _NUMBERS for column in cursor.description]
        return _table(names, numbers, cursor.fetchall())

    def _duckdb(self, text: str) -> str:
        """As it stands, save that the extensions are here already and the database has its own name."""
        for statement in _statements(text):
            if statement.startswith("INSTALL"):
                continue
            place = re.sub(r"ducklake:postgres:[^']*", f"ducklake:postgres:{self.dsn}", statement)
            result = self.duck.execute(place)
        columns = result.description or []
        numbers = [str(kind).startswith(("INT", "BIGINT", "DECIMAL", "NUMBER")) for _, kind, *_ in columns]
        return _table([name for name, *_ in columns], numbers, result.fetchall())

    def _python(self, text: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(text, {"spark": self.spark, "dsn": self.dsn})
        return printed.getvalue()

    def _settle(self) -> None:
        """The next block finds in the lake what this one has changed."""
        until = time.monotonic() + 60
        while any(s.sink and s.published != s.refresh_number for s in self.rn.status()):
            assert time.monotonic() < until, "the sinks do not follow"
            time.sleep(0.05)


@pytest.fixture
def session(runnel_db: str, spark: SparkSession, tmp_path: Path) -> Iterator[Session]:
    stop = threading.Event()
    with runnel.connect(runnel_db, spark=spark) as rn:
        rn.install(data_path=str(tmp_path / "lake"))
        engine = threading.Thread(target=rn.run, args=(stop,), daemon=True)
        engine.start()
        session = Session(runnel_db, spark, rn)
        try:
            yield session
        finally:
            session.close()
            stop.set()
            engine.join()


def _statements(text: str) -> list[str]:
    """Split where a line ends with a semicolon outside of $$, or where one follows on the same line."""
    found, quoted = [""], False
    for part in re.split(r"(\$\$|;[ \t]*(?:--[^\n]*)?(?:\n|(?=[A-Z])))", text):
        if part == "$$":
            quoted = not quoted
        if part.startswith(";") and not quoted:
            found.append("")
        else:
            found[-1] += part
    return [statement.strip() for statement in found if statement.strip()]


def _table(names: Sequence[str], numbers: Sequence[bool], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as psql prints them."""
    texts = [["" if value is None else str(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *texts, strict=True)]
    lines = [" " + " | ".join(name.ljust(width) for name, width in zip(names, widths, strict=True))]
    lines.append("+".join("-" * (width + 2) for width in widths))
    for row in texts:
        cells = zip(row, widths, numbers, strict=True)
        lines.append(" " + " | ".join(c.rjust(w) if number else c.ljust(w) for c, w, number in cells))
    return "\n".join(lines)


def _stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines() if line.strip()]
