"""Reading a playbook's file: every mistake in it is told with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from runnel.errors import UserError
from runnel.playbook.document import Playbook
from runnel.playbook.secrets import hide

_MEANINGS = {
    "extra_forbidden": "is not a field here",
    "missing": "is missing",
}
_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """YAML without the silent loss of a key that is written twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f'key "{key.value}" is there twice', key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_playbook(path: Path) -> Playbook:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f'playbook "{path}" cannot be read', detail=error.strerror) from None
    except UnicodeDecodeError as error:
        raise UserError(f'playbook "{path}" is not UTF-8 text', detail=f"byte {error.start}") from None
    return parse_playbook(text, str(path))


def parse_playbook(text: str, name: str = "playbook") -> Playbook:
    try:
        document = yaml.load(text, Loader=_Loader)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        raise _broken(name, error) from None
    except yaml.YAMLError as error:
        raise UserError(f"{name}: broken YAML", detail=str(error).splitlines()[0]) from None
    if not isinstance(document, Mapping):
        raise UserError(
            f"{name}: not a playbook", hint="it begins with metadata: and has a workflow: list of steps"
        )
    try:
        return Playbook.model_validate(document)
    except ValidationError as error:
        raise _invalid(name, document, root, error) from None


def _broken(name: str, error: yaml.MarkedYAMLError) -> UserError:
    mark = error.problem_mark or error.context_mark
    place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    snippet = hide((mark.get_snippet() or "").strip()) if mark else ""
    hint = "check the indentation and the quotes there"
    if "{{" in snippet:
        hint = 'put quotes around a value that begins with a template: "{{ … }}"'
    return UserError(
        f"{name}: broken YAML{place}: {error.problem or error.context}", detail=snippet or None, hint=hint
    )


def _invalid(
    name: str, document: Mapping[str, Any], root: yaml.Node | None, error: ValidationError
) -> UserError:
    first, *others = error.errors(include_input=False, include_url=False)
    path = _true_path(document, first["loc"])
    meaning = _MEANINGS.get(first["type"], str(first["msg"]).removeprefix("Value error, "))
    where = _spelled(document, path)
    more = f"{len(others)} more after it" if others else None
    return UserError(
        f"{name}, line {_line(root, path)}: {where + ' ' if where else ''}{meaning}", detail=more
    )


def _true_path(document: Any, location: Sequence[int | str]) -> list[int | str]:
    """Where in the text a field stands: a tool's fields, checked apart, may stand on the step itself."""
    path: list[int | str] = []
    for part in location:
        inside = _at(document, path)
        nested = isinstance(inside, Mapping) and isinstance(inside.get("tool"), Mapping)
        if part != "tool" or nested or part == location[-1]:
            path.append(part)
    return path


def _at(document: Any, path: Sequence[int | str]) -> Any:
    for part in path:
        try:
            document = document[part]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def _spelled(document: Any, path: Sequence[int | str]) -> str:
    """workflow.2.command as a reader says it: step "load": command"""
    if len(path) >= 2 and path[0] == "workflow":
        step = _at(document, path[:2])
        name = step.get("step", path[1]) if isinstance(step, Mapping) else path[1]
        rest = ".".join(map(str, path[2:]))
        return f'step "{name}":' + (f" {rest}" if rest else "")
    return ".".join(map(str, path))


def _line(node: yaml.Node | None, path: Sequence[int | str]) -> int:
    line = node.start_mark.line if node else 0
    for part in path:
        child: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == part:
                    line, child = key.start_mark.line, value
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            child = node.value[part]
            line = child.start_mark.line
        if child is None:
            break
        node = child
    return line + 1
