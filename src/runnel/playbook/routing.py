"""Where a workflow goes on after a step: the forms of `next`, read into one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Route:
    """One arrow to a step; a `default` is taken where no condition beside it held."""

    step: str
    when: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    default: bool = False
    exclusive: bool = False


def routes_of(raw: Any) -> tuple[Route, ...]:
    """`name`, `[name]`, `[{step, when?, args}]`, `[{when, then: [{step}]}]` or `{spec, arcs}`."""
    if isinstance(raw, tuple) and all(isinstance(each, Route) for each in raw):
        return raw
    exclusive = False
    if isinstance(raw, Mapping) and "arcs" in raw:
        exclusive = (raw.get("spec") or {}).get("mode", "exclusive") == "exclusive"
        raw = raw["arcs"]
    entries = raw if isinstance(raw, list) else [] if raw is None else [raw]
    found = [route for entry in entries for route in _entry(entry)]
    conditional = any(route.when is not None for route in found)
    return tuple(
        Route(route.step, route.when, route.args, conditional and route.when is None, exclusive)
        for route in found
    )


def _entry(entry: Any, when: str | None = None) -> Iterator[Route]:
    match entry:
        case str():
            yield Route(entry, when)
        case {"when": str() | bool() as condition, "then": then}:
            for branch in then if isinstance(then, list) else [then]:
                yield from _entry(branch, str(condition))
        case {"step": str() as step}:
            known = {"step", "when", "args", "data", "with"}
            if set(entry) - known:
                raise ValueError(f"next does not know {', '.join(sorted(map(str, set(entry) - known)))}")
            args: Mapping[str, Any] = next(
                (entry[name] for name in ("args", "data", "with") if entry.get(name)), {}
            )
            own = entry.get("when")
            yield Route(step, when if own is None else str(own), args)
        case _:
            raise ValueError(
                "next is a step's name, or a list of {step}, {step, when} or {when, then: [{step}]}"
            )


def taken(routes: Sequence[Route], holds: Callable[[str], bool]) -> tuple[Route, ...]:
    """The routes whose condition holds (only the first of them, if they exclude each other)."""
    matching = tuple(route for route in routes if route.when is not None and holds(route.when))
    return matching[:1] if matching and matching[0].exclusive else matching


def unconditional(routes: Sequence[Route]) -> tuple[Route, ...]:
    """The routes without a condition: all of them, or where others have one the default."""
    return tuple(route for route in routes if route.when is None)
