"""The demo's clock: from an order's commit to the moment when plain DuckDB sees it in the lake."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from setting import claim


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=500, help="orders a second, a transaction each")
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    report = run_demo(options.rate, options.seconds)
    print(
        f"{report['orders']} orders, {report['orders_per_second']:.0f} a second, schedule 200ms, local disk\n"
    )
    print(f"{'ms':22} {'lake':8} {'p50':>8} {'p99':>8} {'refresh p50':>12} {'p99':>8} {'refreshes':>10}")
    latencies: dict[str, dict[str, Any]] = {}
    for name, table in report["stream_tables"].items():
        seen = table["latency"]
        if seen is not None:
            latencies[name] = seen
        p50, p99 = (seen["p50"], seen["p99"]) if seen is not None else (float("nan"), float("nan"))
        refresh = f"{table['refresh_p50_ms']:12.1f} {table['refresh_p99_ms']:8.1f} {table['refreshes']:10}"
        print(f"{name:22} {table['lake'] or '-':8} {p50:8.0f} {p99:8.0f} {refresh}")
    print()
    for name, seen in latencies.items():
        claim(f"{name}: p50 of an order's way into the lake, ms", seen["p50"], at_most=350)
        claim(f"{name}: p99, ms", seen["p99"], at_most=700)


def run_demo(rate: float, seconds: float) -> dict[str, Any]:
    command = [str(Path(sys.executable).parent / "runnel"), "demo", "--json"]
    done = subprocess.run(
        [*command, "--rate", f"{rate:g}", "--seconds", f"{seconds:g}"], stdout=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"the demo failed:\n{done.stdout}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


if __name__ == "__main__":
    main()
