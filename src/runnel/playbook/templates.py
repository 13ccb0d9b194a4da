"""Jinja2 templates of a playbook: sandboxed, and an unknown name is an error that says which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, UndefinedError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from runnel.errors import UserError

_FALSE = frozenset({"", "false", "no", "0", "none", "null"})


class _Environment(ImmutableSandboxedEnvironment):
    """A dict's key comes before its methods, so that `result.items` and `loop.count` mean the data."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


def _sql_literal(value: Any) -> str:
    """`{{ name | literal }}`: a value as SQL writes it, quotes and all."""
    match value:
        case None:
            return "NULL"
        case bool() | int() | float() | Decimal():
            return str(value)
        case _:
            return "'" + str(value).replace("'", "''") + "'"


def _identifier(value: Any) -> str:
    return '"' + str(value).replace('"', '""') + '"'


def _environment(finalize: Any = None) -> _Environment:
    environment = _Environment(undefined=StrictUndefined, autoescape=False, finalize=finalize)
    environment.filters["literal"] = _sql_literal
    environment.filters["identifier"] = _identifier
    return environment


_VALUES = _environment()
_SQL = _environment(finalize=lambda value: "NULL" if value is None else value)


def render(template: Any, context: Mapping[str, Any]) -> Any:
    """A value with its templates filled in, lists and mappings all through.

    A text that is one expression and nothing else is that expression's value: "{{ batch_ids }}" gives a list.
    """
    match template:
        case str():
            return _value(template, context)
        case Mapping():
            return {key: render(value, context) for key, value in template.items()}
        case list() | tuple():
            return [render(value, context) for value in template]
        case _:
            return template


def render_sql(template: str, context: Mapping[str, Any]) -> str:
    """A command's text: always a text, in which no value is NULL."""
    return str(_guarded(template, context, lambda: _SQL.from_string(template).render(context)))


def holds(condition: str, context: Mapping[str, Any]) -> bool:
    """Whether a condition is true, written as a template or bare."""
    value = _value(condition if "{{" in condition or "{%" in condition else f"{{{{ {condition} }}}}", context)
    return value.strip().lower() not in _FALSE if isinstance(value, str) else bool(value)


def names_in(template: Any) -> frozenset[str]:
    """The names that a template asks its context for."""
    match template:
        case str():
            try:
                return frozenset(meta.find_undeclared_variables(_VALUES.parse(template)))
            except TemplateSyntaxError:
                return frozenset()
        case Mapping():
            return _union(template.values())
        case list() | tuple():
            return _union(template)
        case _:
            return frozenset()


def _union(templates: Iterable[Any]) -> frozenset[str]:
    return frozenset(name for each in templates for name in names_in(each))


def _value(template: str, context: Mapping[str, Any]) -> Any:
    if "{{" not in template and "{%" not in template and "{#" not in template:
        return template
    return _guarded(template, context, lambda: _evaluate(template, context))


def _evaluate(template: str, context: Mapping[str, Any]) -> Any:
    expression = _only_expression(template)
    if expression is None:
        return _VALUES.from_string(template).render(context)
    value = _VALUES.compile_expression(expression, undefined_to_none=False)(**context)
    if isinstance(value, Undefined):
        str(value)  # raises, with the name of what is missing
    return value


def _only_expression(template: str) -> str | None:
    text = template.strip()
    tokens = [kind for _, kind, _ in _VALUES.lex(text)]
    once = tokens.count("variable_begin") == 1 and "data" not in tokens and "block_begin" not in tokens
    if not once or "comment_begin" in tokens:
        return None
    return text.removeprefix("{{").removesuffix("}}").strip("-").strip()


def _guarded(template: str, context: Mapping[str, Any], work: Any) -> Any:
    try:
        return work()
    except UndefinedError as error:
        raise UserError(
            f"{_shown(template)}: {error.message}", hint=f"the names here are {', '.join(sorted(context))}"
        ) from None
    except TemplateSyntaxError as error:
        raise UserError(f"{_shown(template)}: not a template: {error.message}") from None
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise UserError(f"{_shown(template)}: {error}") from None


def _shown(template: str) -> str:
    """The template by its first expression, short enough for one line."""
    begin = template.find("{{")
    text = template[begin : template.find("}}", begin) + 2] if begin >= 0 and "}}" in template else template
    text = " ".join(text.split())
    return text if len(text) <= 100 else text[:97] + "..."
