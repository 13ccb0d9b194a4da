"""From algebra to readable text: the delta compiler."""

from runnel.delta.compile import compile_query, log_setup
from runnel.delta.difference import replace_content
from runnel.delta.program import DeltaProgram, Field, Gear, Lookup, Statement, Target, columns, quote

__all__ = [
    "DeltaProgram",
    "Field",
    "Gear",
    "Lookup",
    "Statement",
    "Target",
    "columns",
    "compile_query",
    "log_setup",
    "quote",
    "replace_content",
]
