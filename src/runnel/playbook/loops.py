"""The elements that a loop runs over, and the names its templates see for each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from runnel.errors import UserError
from runnel.playbook.document import Loop
from runnel.playbook.templates import holds, render


def elements_of(loop: Loop, context: dict[str, Any]) -> list[Any]:
    """The collection, filtered, ordered, cut and put into chunks as the loop says."""
    elements = _collection(loop, context)
    if loop.where is not None:
        condition = loop.where
        elements = [each for each in elements if holds(condition, context | element_names(loop, each, 0, 1))]
    if loop.order_by is not None:
        elements = _ordered(loop, elements, context)
    if loop.limit is not None:
        elements = elements[: loop.limit]
    if loop.chunk is not None:
        elements = [elements[at : at + loop.chunk] for at in range(0, len(elements), loop.chunk)]
    return elements


def element_names(loop: Loop, element: Any, index: int, count: int) -> dict[str, Any]:
    """`batch_id`, `loop.element`, `loop.index`, `_loop.count` and the rest."""
    return {
        loop.element: element,
        "loop": {
            "element": element,
            "index": index,
            "first": index == 0,
            "last": index == count - 1,
            "length": count,
            "done": False,
        },
        "_loop": {"index": index, "count": count, "size": count},
    }


def _collection(loop: Loop, context: Mapping[str, Any]) -> list[Any]:
    value = render(loop.collection, context)
    if isinstance(value, str):
        value = _written_list(value)
    if isinstance(value, Mapping):
        return [{"key": key, "value": item} for key, item in value.items()]
    if not isinstance(value, Sequence) and not hasattr(value, "__iter__"):
        raise UserError(
            f"the loop's collection is no list: {str(value)[:60]!r}",
            hint='write a list, or a template: "{{ name }}"',
        )
    return list(value)


def _written_list(text: str) -> Any:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = text
    if isinstance(value, str):
        raise UserError(
            f"the loop's collection is a text, no list: {text[:60]!r}",
            hint='write a list, or a template: "{{ name }}"',
        )
    return value


def _ordered(loop: Loop, elements: list[Any], context: dict[str, Any]) -> list[Any]:
    order = str(loop.order_by)
    expression, descending = (order[:-5], True) if order.lower().endswith(" desc") else (order, False)
    template = expression if "{{" in expression else f"{{{{ {expression} }}}}"
    keys = [render(template, context | element_names(loop, each, 0, 1)) for each in elements]
    try:
        ranks = sorted(range(len(elements)), key=lambda at: keys[at], reverse=descending)
    except TypeError as error:
        raise UserError(f"order_by {order!r} gives values that have no order", detail=str(error)) from None
    return [elements[at] for at in ranks]
