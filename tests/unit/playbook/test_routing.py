"""Each form of `next`, and where it leads."""

from __future__ import annotations

from typing import Any

import pytest

from runnel.playbook.routing import routes_of, taken, unconditional


@pytest.mark.parametrize(
    ("raw", "when_true", "otherwise"),
    [
        ("a", [], ["a"]),
        (["a", "b"], [], ["a", "b"]),
        ([{"step": "a"}], [], ["a"]),
        ([{"step": "a", "when": "yes"}, {"step": "b"}], ["a"], ["b"]),
        ([{"when": "yes", "then": [{"step": "a"}, "b"]}, {"step": "c"}], ["a", "b"], ["c"]),
        ([{"when": "no", "then": "a"}, {"step": "c"}], [], ["c"]),
        ([{"step": "a", "when": "yes"}, {"step": "b", "when": "yes"}], ["a", "b"], []),
        ({"arcs": [{"step": "a", "when": "yes"}, {"step": "b", "when": "yes"}]}, ["a"], []),
        ({"spec": {"mode": "inclusive"}, "arcs": [{"step": "a", "when": "yes"}]}, ["a"], []),
        (None, [], []),
    ],
)
def test_forms(raw: Any, when_true: list[str], otherwise: list[str]) -> None:
    routes = routes_of(raw)
    assert [route.step for route in taken(routes, lambda when: when == "yes")] == when_true
    assert [route.step for route in unconditional(routes)] == otherwise


@pytest.mark.parametrize("key", ["args", "data", "with"])
def test_arguments_of_a_route(key: str) -> None:
    [route] = routes_of([{"step": "a", key: {"x": 1}}])
    assert route.args == {"x": 1}


@pytest.mark.parametrize("raw", [[{"when": "x"}], [{"step": "a", "stop": 1}], [3]])
def test_an_unknown_form_is_refused(raw: Any) -> None:
    with pytest.raises(ValueError, match="next"):
        routes_of(raw)
