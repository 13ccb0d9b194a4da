"""The playbook that the documentation shows runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

from pyspark.sql import SparkSession

from runnel.playbook import render, run_playbook

PAGE = Path(__file__).parents[3] / "docs" / "playbooks.md"


def test_the_documented_playbook_runs(database: str, tmp_path: Path, spark: SparkSession) -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "batches.yaml"
    path.write_text(text, encoding="utf-8")
    result = run_playbook(
        path, dsn=database, data_path=tmp_path / "lake", spark=spark, overrides={"batch_ids": [4, 5]}
    )
    assert result.ok, result.error
    assert result.variables == {"total": 2}
    assert "total = 2" in render(result)
    assert "items: 2 total, 2 success, 0 failed" in render(result)
