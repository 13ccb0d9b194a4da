"""The SQL of a leaf in PostgreSQL, shared by tables and stream tables."""

from __future__ import annotations

from runnel.algebra import Leaf

WEIGHT = "__w"


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def select_leaf(leaf: Leaf, relation: str, *conditions: str, weight: str = f"{{alias}}.{WEIGHT}") -> str:
    """The leaf's columns over a relation (a FROM item without its alias) and the weight."""
    alias = leaf.source.alias
    fields = [f"{column.sql} AS {column.name}" for column in leaf.columns]
    fields.append(f"{weight.format(alias=alias)} AS w")
    where = " AND ".join(f"({condition})" for condition in (*leaf.predicates, *conditions))
    select = f"SELECT {', '.join(fields)} FROM {relation} AS {alias}"
    return f"{select} WHERE {where}" if where else select


def logged(leaf: Leaf, log: str, condition: str) -> str:
    """A change log as the relation it logs, with weights; consolidated where an expression could raise."""
    names = [(f"a{column.number}", quote(column.name), column.type) for column in leaf.used]
    if not leaf.consolidate:
        fields = ", ".join([*(f"{a} AS {name}" for a, name, _ in names), f"w::bigint AS {WEIGHT}"])
        return f"(SELECT {fields} FROM {log} WHERE {condition})"
    fields = ", ".join(
        [
            *(f"{a if type_.is_plain else f'(array_agg({a}))[1]'} AS {name}" for a, name, type_ in names),
            f"sum(w)::bigint AS {WEIGHT}",
        ]
    )
    images = [a if type_.is_plain and not type_.is_numeric else f"{a}::text" for a, _, type_ in names]
    plain = [a for a, _, type_ in names if type_.is_plain and type_.is_numeric]
    group = f" GROUP BY {', '.join([*images, *plain])}" if names else ""
    return f"(SELECT {fields} FROM {log} WHERE {condition}{group} HAVING sum(w) <> 0)"


def key_condition(leaf: Leaf) -> str:
    """The leaf's join keys are among the arrays $1, $2, …; `= ANY` lets an index serve one key."""
    if len(leaf.keys) == 1:
        return f"{leaf.key_sql[0]} = ANY({_array(leaf, 0)})"
    arrays = ", ".join(_array(leaf, i) for i in range(len(leaf.keys)))
    names = ", ".join(f"k{i}" for i in range(len(leaf.keys)))
    return f"({', '.join(leaf.key_sql)}) IN (SELECT {names} FROM unnest({arrays}) AS wanted({names}))"


def _array(leaf: Leaf, index: int) -> str:
    carrier, type_ = leaf.keys[index].carrier, leaf.key_types[index]
    return f"${index + 1}::bigint[]" if carrier == "bigint" else f"${index + 1}::text[]::{type_.base}[]"
