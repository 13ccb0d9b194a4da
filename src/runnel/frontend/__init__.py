"""From PostgreSQL's canonical view text to algebra; the only room that sees a parse tree."""

from runnel.frontend.expand import expand
from runnel.frontend.locate import place, reason
from runnel.frontend.query import read_query
from runnel.frontend.view import Describe, Function, View

__all__ = ["Describe", "Function", "View", "expand", "place", "read_query", "reason"]
