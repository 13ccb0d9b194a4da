"""Which stream tables are refreshed together, and in which order; pure functions over the catalog's rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runnel.catalog.client import StreamTable

Tables = Mapping[int, StreamTable]


def upstreams(table: StreamTable) -> list[int]:
    return [d.upstream_id for d in table.dependencies if d.upstream_id is not None]


def ancestors(tables: Tables, pgt_id: int) -> set[int]:
    found: set[int] = set()
    waiting = upstreams(tables[pgt_id])
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += upstreams(tables[current])
    return found


def bases(tables: Tables, pgt_id: int) -> set[int]:
    """The relations that a stream table reaches, directly or through others, and that are none themselves."""
    members = {pgt_id} | ancestors(tables, pgt_id)
    return {d.relid for member in members for d in tables[member].dependencies if d.upstream_id is None}


def has_diamond(tables: Tables, pgt_id: int) -> bool:
    """Whether one base is reached by two of its inputs: then nothing may mix their versions."""
    seen: set[int] = set()
    for dependency in tables[pgt_id].dependencies:
        upstream = dependency.upstream_id
        reached = bases(tables, upstream) if upstream is not None else {dependency.relid}
        if reached & seen:
            return True
        seen |= reached
    return False


def together(tables: Tables, wanted: Iterable[int]) -> set[int]:
    """The wanted ones, with the ancestors that a diamond or an empty upstream brings into the same round."""
    chosen: set[int] = set()
    for pgt_id in wanted:
        family = ancestors(tables, pgt_id)
        if any(has_diamond(tables, member) for member in (pgt_id, *family)):
            chosen |= family
        chosen |= {member for member in family if not tables[member].is_populated}
        chosen.add(pgt_id)
    return chosen


def readers_of(tables: Tables, chosen: set[int], relid: int) -> set[int]:
    """The chosen ones that read a relation, directly or through others of the chosen."""
    direct = {i for i in chosen if any(d.relid == relid for d in tables[i].dependencies)}
    return direct | {i for i in chosen if ancestors(tables, i) & direct}


def levels(tables: Tables, chosen: set[int]) -> list[list[int]]:
    """The chosen ones in levels: each only reads what stands in earlier ones, or is not chosen."""
    depth: dict[int, int] = {}

    def depth_of(pgt_id: int) -> int:
        if pgt_id not in depth:
            depth[pgt_id] = 1 + max((depth_of(up) for up in upstreams(tables[pgt_id])), default=-1)
        return depth[pgt_id]

    found: dict[int, list[int]] = {}
    for pgt_id in sorted(chosen):
        found.setdefault(depth_of(pgt_id), []).append(pgt_id)
    return [found[key] for key in sorted(found)]
