"""Draws the demo: live where there is a terminal, else a line now and then, and nothing where JSON is wanted."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from runnel.demos.report import Report
from runnel.demos.tally import Tally

_PIPE_WIDTH = 110
_PLAIN_SECONDS = 5.0
_TICK = 0.1
_BAR = 20


class Display:
    """All that the demo prints, save its JSON."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(quiet=quiet, highlight=False)
        if not self.console.is_terminal:
            self.console.width = _PIPE_WIDTH

    def title(self) -> None:
        self.console.print(
            "\n[bold]Runnel[/]: orders in PostgreSQL, results that stay fresh, a lake for everybody\n"
        )

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """One thing that is set up, with the time it took."""
        start = time.monotonic()
        with self.console.status(text) if self.console.is_terminal else _nothing():
            yield
        self.console.print(f"  [green]✓[/] {text:<68} [dim]{time.monotonic() - start:4.1f} s[/]")

    def watch(self, tally: Tally, seconds: float, running: Callable[[], bool]) -> None:
        """Until the shop has closed; `running` says whether it is open, and raises where something broke."""
        start = time.monotonic()
        self.console.print()
        if self.console.is_terminal:
            self._watch_live(tally, start, seconds, running)
        else:
            self._watch_plain(tally, start, running)

    def report(self, report: Report) -> None:
        print_ = self.console.print
        print_(
            f"\n  [bold]{report.orders:,} orders[/] in {report.seconds:.0f} s,"
            f" {report.orders_per_second:.0f} a second, each one transaction;\n"
            f"  {_others(report.transactions)}\n"
        )
        print_(_indented(_findings(report)))
        print_("\n  From an order's commit to a plain DuckDB that has read it in the lake:\n")
        print_(_indented(_latencies(report)))
        if report.trend:
            print_("\n  What DuckDB finds at older snapshots of the lake:\n")
            print_(_indented(_trend(report)), "")
        for problem in report.problems[:3]:
            print_(Text.assemble("  ", ("!", "yellow"), f" {problem}"))
        for failure in report.failures:
            print_(Text(f"  ✗ {failure}", "bold red"))
        if report.ok:
            print_("  [bold green]✓ Everything is equal, row for row.[/] [dim]All servers have ended.[/]\n")
        self._next()

    def _next(self) -> None:
        runnel = _command()
        lines = (
            ("ten times as busy", "demo --rate 500"),
            ("a loop of SQL steps on a lake", "playbook run examples/playbooks/sales.yaml --embedded"),
            ("your own PostgreSQL (README.md)", "init postgresql://…"),
        )
        self.console.print("  What to type next\n")
        for meaning, command in lines:
            self.console.print(f"  [dim]{meaning:<33}[/][cyan]{runnel} {command}[/]", soft_wrap=True)
        self.console.print()

    def _watch_live(self, tally: Tally, start: float, seconds: float, running: Callable[[], bool]) -> None:
        with Live(console=self.console, auto_refresh=False, transient=True) as live:
            while running():
                live.update(_picture(tally, time.monotonic() - start, seconds), refresh=True)
                time.sleep(_TICK)

    def _watch_plain(self, tally: Tally, start: float, running: Callable[[], bool]) -> None:
        told = start
        while running():
            time.sleep(_TICK)
            if time.monotonic() - told >= _PLAIN_SECONDS:
                told = time.monotonic()
                self.console.print(_line(tally, told - start))


def _picture(tally: Tally, elapsed: float, seconds: float) -> Group:
    orders = Text.assemble(
        "  orders     ",
        (f"{tally.orders:,}", "bold"),
        (f"  {tally.orders / elapsed if elapsed > 0 else 0:.0f} a second; {_others(tally.written)}", "dim"),
    )
    behind = tally.behind_ms
    freshness = Text.assemble(
        "  freshness  ",
        (f"{behind:.0f} ms" if behind is not None else "…", "bold green"),
        ("  until a plain DuckDB has read the result in the lake", "dim"),
    )
    bar = Table.grid()
    bar.add_row(
        "  ",
        ProgressBar(seconds, min(elapsed, seconds), width=_BAR),
        f"  {min(elapsed, seconds):.0f} of {seconds:.0f} s",
    )
    return Group(orders, freshness, "", _indented(_courses(tally)), "", bar)


def _courses(tally: Tally) -> Table:
    table = _table("stream table", "refreshes", "rows changed", "refresh ms", "lake snapshot")
    for name, course in tally.courses.items():
        newest = f"{course.refresh_ms[-1]:.0f}" if course.refresh_ms else "…"
        snapshot = str(course.snapshot) if course.snapshot is not None else "–"
        table.add_row(name, f"{course.refreshes:,}", f"{course.rows_changed:,}", newest, snapshot)
    return table


def _line(tally: Tally, elapsed: float) -> str:
    times = [course.refresh_ms[-1] for course in tally.courses.values() if course.refresh_ms]
    changed = sum(course.rows_changed for course in tally.courses.values())
    behind = f"{tally.behind_ms:.0f} ms" if tally.behind_ms is not None else "…"
    return (
        f"  {elapsed:3.0f} s  {tally.orders:,} orders written, {changed:,} rows changed,"
        f" refresh {max(times, default=0):.0f} ms, freshness {behind}"
    )


def _findings(report: Report) -> Table:
    table = _table("stream table", "rows", "refreshes", "changed", "ms", "= query", "= lake view")
    for finding in report.stream_tables:
        time_ = f"{finding.refresh_p50_ms:.0f}" if finding.refresh_p50_ms is not None else "–"
        is_query = _mark(finding.query.is_equal and finding.is_verified)
        view = "–" if finding.view is None else _mark(finding.view.is_equal, finding.lake or "")
        counts = (finding.query.rows, finding.refreshes, finding.rows_changed)
        table.add_row(finding.name, *(f"{count:,}" for count in counts), time_, is_query, view)
    return table


def _latencies(report: Report) -> Table:
    table = _table("lake view", "p50 ms", "p99 ms", "orders", "snapshots")
    for finding in report.stream_tables:
        found = finding.latency
        if found is not None and found.p50 is not None:
            p50, p99 = Text(f"{found.p50:.0f}", "bold green"), Text(f"{found.p99:.0f}", "bold green")
            table.add_row(finding.name, p50, p99, f"{found.orders:,}", f"{finding.snapshots:,}")
    return table


def _trend(report: Report) -> Table:
    table = _table("revenue_by_region AT", "seconds", "orders", "revenue_usd")
    most = max(float(point.revenue_usd) for point in report.trend)
    least = min(float(point.revenue_usd) for point in report.trend)
    table.add_column("")
    for point in report.trend:
        share = (float(point.revenue_usd) - least) / (most - least) if most > least else 1.0
        revenue = f"{float(point.revenue_usd):,.2f}"
        bar = "▇" * (1 + round(share * _BAR))
        table.add_row(
            f"(VERSION => {point.snapshot})",
            f"{point.seconds:.1f}",
            f"{point.orders:,}",
            revenue,
            Text(bar, "cyan"),
        )
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(first)
    for title in others:
        table.add_column(title, justify="right")
    return table


def _indented(table: Table) -> Padding:
    return Padding(table, (0, 0, 0, 2))


def _mark(is_equal: bool, text: str = "") -> Text:
    mark = Text("✓", "green") if is_equal else Text("✗", "bold red")
    return Text.assemble(f"{text} " if text else "", mark)


def _others(written: Mapping[str, int]) -> str:
    return ", ".join(
        f"{written.get(what, 0):,} {what}" for what in ("shipped", "changed", "cancelled", "deleted")
    )


def _command() -> str:
    """The command as it can be typed here."""
    program = Path(sys.executable).parent / "runnel"
    try:
        return str(program.relative_to(Path.cwd()))
    except ValueError:
        return "runnel"


@contextmanager
def _nothing() -> Iterator[None]:
    yield
