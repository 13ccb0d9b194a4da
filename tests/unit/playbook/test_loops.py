"""The elements a loop runs over, and what its templates see."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from runnel.errors import UserError
from runnel.playbook.document import Loop
from runnel.playbook.loops import element_names, elements_of
from runnel.playbook.result import plain


def elements(collection: Any, **options: Any) -> list[Any]:
    return elements_of(Loop(collection=collection, element="x", **options), {"ids": [3, 1, 2]})


def test_collections() -> None:
    assert elements("{{ ids }}") == [3, 1, 2]
    assert elements([1, "{{ ids[0] }}"]) == [1, 3]
    assert elements("[1, 2]") == [1, 2]
    assert elements({"a": 1}) == [{"key": "a", "value": 1}]
    assert elements("{{ range(3) }}") == [0, 1, 2]
    assert elements([]) == []


def test_filter_order_limit_and_chunks() -> None:
    assert elements("{{ ids }}", where="{{ x > 1 }}") == [3, 2]
    assert elements("{{ ids }}", order_by="x") == [1, 2, 3]
    assert elements("{{ ids }}", order_by="x desc", limit=2) == [3, 2]
    assert elements("{{ ids }}", chunk=2) == [[3, 1], [2]]


@pytest.mark.parametrize("collection", ["text", 7, "{{ 7 }}"])
def test_what_is_no_list_is_told(collection: Any) -> None:
    with pytest.raises(UserError, match="collection"):
        elements(collection)


def test_names_of_an_element() -> None:
    names = element_names(Loop(collection=[], element="batch_id"), 9, 0, 2)
    assert names["batch_id"] == names["loop"]["element"] == 9
    assert (names["loop"]["first"], names["loop"]["last"], names["_loop"]["count"]) == (True, False, 2)


def test_json_loses_nothing() -> None:
    value = {
        "d": Decimal("99.990"),
        "n": float("nan"),
        "t": date(2025, 1, 6),
        "u": UUID(int=0),
        "b": b"\x01",
        "l": (1,),
    }
    assert plain(value) == {
        "d": "99.990",
        "n": "nan",
        "t": "2025-01-06",
        "u": "00000000-0000-0000-0000-000000000000",
        "b": "01",
        "l": [1],
    }
