"""Playbooks: workflows of SQL steps on lakes, with loops whose items run in Spark's workers."""

from runnel.playbook.embedding import EmbeddedCatalog, embedded_catalog
from runnel.playbook.printing import render_result as render
from runnel.playbook.reading import parse_playbook, read_playbook
from runnel.playbook.result import Event, PlaybookResult, StepResult
from runnel.playbook.runner import run_playbook

__all__ = [
    "EmbeddedCatalog",
    "Event",
    "PlaybookResult",
    "StepResult",
    "embedded_catalog",
    "parse_playbook",
    "read_playbook",
    "render",
    "run_playbook",
]
