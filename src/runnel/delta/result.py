"""Writing a result: rows with weights taken away and put in, and logged for whoever follows.

Rows are equal by their record image, located by the hash of all columns. Fewer rows found than a weight takes
away is corruption and stops the refresh.
"""

from __future__ import annotations

from runnel.delta.measures import group_hash
from runnel.delta.program import NUMBER, Statement, Target, columns, positions, quote
from runnel.delta.text import with_query


def row_index(target: Target) -> list[Statement]:
    """The index by which rows without a key are found."""
    names = [quote(output.name) for output in target.outputs]
    index = f"CREATE INDEX {target.index('hash')} ON {target.result} (({group_hash(names)}))"
    return [target.drop_index("key"), target.drop_index("hash"), Statement("key", index)]


def change_rows(target: Target, inputs: list[tuple[str, str]], rows: str) -> Statement:
    """Adds the query `rows` (columns c1, c2, … and a weight w) to the result."""
    result, names = target.result, positions(target)
    same = f"record_image_eq(ROW({columns(target, 'r.')}), ROW({positions(target, 'd.')}))"
    hash_r = group_hash([f"r.{quote(o.name)}" for o in target.outputs])
    wanted = "coalesce((SELECT sum(-w) FROM delta WHERE w < 0), 0)::bigint"
    ctes = [
        *inputs,
        ("rows", rows),
        ("delta", _consolidated(target)),
        ("hit", "SELECT r.ctid AS at, -d.w AS n, row_number() OVER (PARTITION BY d.id) AS i"
         f" FROM delta AS d JOIN {result} AS r ON {hash_r} = d.h AND {same} WHERE d.w < 0"),
        ("gone", f"DELETE FROM {result} AS r USING hit WHERE r.ctid = hit.at AND hit.i <= hit.n RETURNING 1"),
        ("new", f"INSERT INTO {result} ({columns(target)})"
         f" SELECT {names} FROM delta CROSS JOIN generate_series(1, delta.w)"),
        ("log", log_rows(target, f"SELECT w, {names} FROM delta")),
    ]  # fmt: skip
    counts = (
        f"{wanted} AS minus, coalesce((SELECT sum(w) FROM delta WHERE w > 0), 0)::bigint AS plus,"
        f" {wanted} - (SELECT count(*) FROM gone) AS negative"
    )
    return Statement("result", with_query(ctes, f"SELECT {counts}"))


def _consolidated(target: Target) -> str:
    """Equal by image: a numeric of no declared scale also by its text, where 1.0 is not 1.00."""
    names = positions(target)
    images = [f"c{i}::text" for i, o in enumerate(target.outputs, 1) if o.type.text == "numeric"]
    h = group_hash([f"c{i}" for i in range(1, len(target.outputs) + 1)])
    return (
        f"SELECT row_number() OVER () AS id, {h} AS h, {names}, sum(w)::bigint AS w FROM rows"
        f" GROUP BY {', '.join([names, *images])} HAVING sum(w) <> 0"
    )


def log_rows(target: Target, rows: str) -> str:
    """Writes rows (weight first) to the change log, where a subscriber reads it."""
    names = ", ".join(f"a{i}" for i in range(1, len(target.outputs) + 1))
    readers = " OR ".join(
        f"EXISTS (SELECT FROM pgtrickle.{table} WHERE {column} = {target.pgt_id})"
        for table, column in (("pgt_dependencies", "upstream_id"), ("pgt_sinks", "pgt_id"))
    )
    return (
        f"INSERT INTO {target.log} (refresh_number, w, {names}) SELECT {NUMBER}, q.* FROM ({rows}) AS q"
        f" WHERE {readers}"
    )


def renamed(target: Target, prefix: str) -> str:
    """The result's columns under their positions."""
    return ", ".join(f"{prefix}{quote(o.name)} AS c{i}" for i, o in enumerate(target.outputs, 1))
