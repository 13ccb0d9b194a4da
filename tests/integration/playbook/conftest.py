"""A lake of a test's own: its database, its data path, and playbooks written for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from runnel.playbook import PlaybookResult, run_playbook
from runnel.playbook.ducklake import pool
from runnel.playbook.ducklake.lake import Lake
from runnel.playbook.ducklake.preparing import prepare

RunSteps = Callable[..., PlaybookResult]


@pytest.fixture(autouse=True)
def _no_lakes_left() -> Iterator[None]:
    yield
    pool.close_all()


@pytest.fixture
def lake(database: str, tmp_path: Path) -> Lake:
    return prepare(Lake(database, "analytics", str(tmp_path / "lake")))


@pytest.fixture
def run_steps(database: str, tmp_path: Path) -> RunSteps:
    """`run_steps({"command": …}, {"commands": […]}, spark=spark)`: steps of one lake, one after the other."""

    def run(*steps: dict[str, Any], **options: Any) -> PlaybookResult:
        path = tmp_path / "playbook.yaml"
        path.write_text(yaml.safe_dump(_document(steps, tmp_path / "lake")), encoding="utf-8")
        return run_playbook(path, **{"dsn": database, **options})

    return run


def _document(steps: tuple[dict[str, Any], ...], data_path: Path) -> dict[str, Any]:
    lake = {"tool": "ducklake", "catalog_name": "analytics", "data_path": str(data_path)}
    workflow = []
    for number, step in enumerate(steps):
        following = {"next": f"s{number + 1}"} if number + 1 < len(steps) else {}
        workflow.append({**lake, "step": f"s{number}", **following, **step})
    return {"metadata": {"name": "test"}, "workflow": workflow}
