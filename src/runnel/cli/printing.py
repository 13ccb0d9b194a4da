"""What commands print: tables for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

_PIPE_WIDTH = 200  # what reads a pipe does not wrap


def say(text: str) -> None:
    print(text, flush=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    # imported here like all that `runnel --help` does not need: see `runnel.cli.engine`
    from rich import box  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    shown = Table(box=box.SIMPLE, pad_edge=False, header_style="bold")
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in rows:
        shown.add_row(*(Text(text_of(value)) for value in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    console.print(shown)


def as_json(value: object) -> None:
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def text_of(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.1f}"
        case datetime():
            return value.astimezone().isoformat(" ", "milliseconds")
        case _:
            return str(value)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(item) for item in value]
        case datetime():
            return value.isoformat()
        case UUID():
            return str(value)
        case _:
            return str(value)
