"""Writes docs/sql.md from the SQL files themselves, so that the reference says what they do.

A public function's file begins with a comment `-- name(arguments): what it does`, then comes its declaration.
`--check` writes nothing and fails where the page is out of date.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_FUNCTIONS = _ROOT / "src/runnel/catalog/sql/functions"
_PAGE = _ROOT / "docs/sql.md"
_HEAD = """\
# The SQL API

What `runnel init` installs in the schema `pgtrickle`. This page is written by `make docs` from
[the functions' own files](../src/runnel/catalog/sql/functions).
"""
_COMMENT = re.compile(r"(?:^-- ?.*\n)+", re.MULTILINE)
_DECLARATION = re.compile(
    r"^CREATE (?:OR REPLACE )?FUNCTION (.*?)\s*^\s*LANGUAGE\b", re.MULTILINE | re.DOTALL
)


def page() -> str:
    return _HEAD + "".join(_section(path) for path in sorted(_FUNCTIONS.glob("*.sql")))


def _section(path: Path) -> str:
    text = path.read_text()
    comment, declarations = _COMMENT.match(text), _DECLARATION.findall(text)
    if comment is None or not declarations:
        raise SystemExit(f"{path.relative_to(_ROOT)} does not begin with a comment and a declaration")
    words = " ".join(line.removeprefix("--").strip() for line in comment.group().splitlines())
    _, _, meaning = words.partition("): ")
    body = "\n".join(textwrap.wrap(_sentence(meaning or words), width=110))
    code = "\n".join(declarations)
    return f"\n## {path.stem}\n\n```sql\n{code}\n```\n\n{body}\n"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def main() -> int:
    wanted = page()
    if "--check" not in sys.argv[1:]:
        _PAGE.write_text(wanted)
        return 0
    if _PAGE.exists() and _PAGE.read_text() == wanted:
        return 0
    print("docs/sql.md is not what the SQL files say; run `make docs`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
