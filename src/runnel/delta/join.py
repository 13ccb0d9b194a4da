"""Inner equi-join.

plain law        R ⋈ S
incremental law  Δ(R ⋈ S) = ΔR ⋈ S' + R' ⋈ ΔS − ΔR ⋈ ΔS, where R' and S' are the new versions

It is the telescoped sum ΔR ⋈ S + R' ⋈ ΔS with the old version written as new − Δ, so that only new versions
are ever looked up, by key. Weights multiply. A key that is NULL joins nothing.
"""

from __future__ import annotations

from runnel.algebra import Leaf

WEIGHT = "w"


def joined_delta(leaves: tuple[Leaf, ...]) -> str:
    """The weighted rows of the block: d0, d1 are deltas; n0, n1 the looked-up new rows."""
    if len(leaves) == 1:
        return _select(leaves, ("d0",), "d0.w")
    terms = (
        _select(leaves, ("d0", "n1"), "d0.w * n1.w"),
        _select(leaves, ("n0", "d1"), "n0.w * d1.w"),
        _select(leaves, ("d0", "d1"), "-(d0.w * d1.w)"),
    )
    return "\nUNION ALL\n".join(terms)


def joined_full(leaves: tuple[Leaf, ...]) -> str:
    """The rows of the block from whole relations s0, s1."""
    names = tuple(f"s{i}" for i in range(len(leaves)))
    return _select(leaves, names, " * ".join(f"{name}.w" for name in names))


def _select(leaves: tuple[Leaf, ...], names: tuple[str, ...], weight: str) -> str:
    fields = [
        f"{name}.{column.name}" for leaf, name in zip(leaves, names, strict=True) for column in leaf.columns
    ]
    select = ", ".join([*fields, f"CAST({weight} AS BIGINT) AS {WEIGHT}"])
    if len(leaves) == 1:
        return f"SELECT {select} FROM {names[0]}"
    on = " AND ".join(
        f"{names[0]}.{left.name} = {names[1]}.{right.name}"
        for left, right in zip(leaves[0].keys, leaves[1].keys, strict=True)
    )
    return f"SELECT {select} FROM {names[0]} JOIN {names[1]} ON {on}"
