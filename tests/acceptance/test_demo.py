"""The first road: `runnel demo` as a stranger runs it, and how it ends where something is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

_RUNNEL = Path(sys.executable).parent / "runnel"
_DEMOS = Path(__file__).parents[2] / ".runnel"

# In a process of its own, like the command; what `break_it` does happens after the last order has arrived.
_BROKEN = """
import sys
import duckdb, psycopg
from runnel import demos
from runnel.demos.shop import Shop
from runnel.lake.duck import extension_path

def break_it(dsn):
    with psycopg.connect(dsn) as conn:
        conn.execute("UPDATE revenue_by_category SET revenue_usd = revenue_usd + 0.01 WHERE category = 'books'")
    with duckdb.connect() as other:
        for name in ("postgres_scanner", "ducklake"):
            other.load_extension(extension_path(name))
        secret, attach, _ = Shop(dsn, None).attach_statements()
        other.execute(secret)
        other.execute(attach.replace(", READ_ONLY", ""))
        other.execute(
            "UPDATE lake.revenue_by_day__data SET order_count = order_count + 1"
            " WHERE category = 'toys' AND day = (SELECT max(day) FROM lake.revenue_by_day WHERE category = 'toys')"
        )

sys.exit(demos.run(seconds=3, rate=50, as_json=True, before_comparing=break_it))
"""


def test_the_demo_keeps_everything_equal_and_says_how_fresh_it_was() -> None:
    run = _run([str(_RUNNEL), "demo", "--seconds", "8", "--rate", "50", "--json"])
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-3000:]
    told = json.loads(run.stdout)
    assert told["ok"] is True
    assert told["failures"] == []
    assert told["orders"] >= 300
    assert all(told["transactions"][what] > 0 for what in ("shipped", "cancelled", "deleted"))
    tables = told["stream_tables"]
    assert list(tables) == ["revenue_by_region", "revenue_by_day", "revenue_by_category"]
    for table in tables.values():
        _check_table(table)
    assert (tables["revenue_by_region"]["lake"], tables["revenue_by_day"]["lake"]) == ("append", "replace")
    _check_latency(tables["revenue_by_region"], told["orders"])
    _check_latency(tables["revenue_by_day"], None)
    trend = [point["snapshot"] for point in told["trend"]]
    assert len(trend) >= 2
    assert trend == sorted(set(trend))


def _check_table(table: dict[str, Any]) -> None:
    assert table["mode"] == "DIFFERENTIAL"
    assert table["refreshes"] >= 2
    assert table["rows_changed"] > 0
    assert table["refresh_p50_ms"] > 0
    assert table["query"]["equal"]
    assert table["is_verified"]
    assert table["query"]["rows"] > 0


def _check_latency(table: dict[str, Any], orders: int | None) -> None:
    """Each refresh that changed something is one snapshot, and every order was seen."""
    assert table["snapshots"] >= 2
    assert table["view"]["equal"]
    assert table["view"]["rows"] == table["query"]["rows"]
    latency = table["latency"]
    assert latency["unseen"] == 0
    assert latency["orders"] == orders or orders is None
    assert 0 < latency["p50"] <= latency["p99"] <= latency["longest"]


def test_the_demo_fails_where_a_row_is_wrong_in_postgresql_or_in_the_lake() -> None:
    run = _run([sys.executable, "-c", _BROKEN])
    assert run.returncode == 1, run.stdout[-2000:] + run.stderr[-3000:]
    told = json.loads(run.stdout)
    assert told["ok"] is False
    assert told["failures"] == [
        "the lake's view revenue_by_day is not the stream table: 1 rows missing, 1 rows too many",
        "revenue_by_category is not what its query says: 1 rows missing, 1 rows too many",
        "revenue_by_category does not pass verify",
    ]
    assert told["stream_tables"]["revenue_by_region"]["view"]["equal"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_demo_and_all_that_it_started(number: signal.Signals) -> None:
    before = _folders()
    command = [str(_RUNNEL), "demo", "--seconds", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        server = _wait_for_server(before)
        demo.send_signal(number)
        _, complaints = demo.communicate(timeout=60)
    assert demo.returncode == 130, complaints
    assert complaints.splitlines() == ["", "ending …", "ended; everything that was started has stopped"]
    assert _folders() <= before
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


def _wait_for_server(before: set[Path]) -> int:
    """The process id of the new demo's PostgreSQL, once it is up."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for folder in _folders() - before:
            found = folder / "postgres" / "pgdata" / "postmaster.pid"
            if found.is_file() and len(lines := found.read_text().splitlines()) >= 8:
                return int(lines[0])
        time.sleep(0.05)
    raise AssertionError("the demo has started no server")


def _folders() -> set[Path]:
    return set(_DEMOS.glob("demo-*"))


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
