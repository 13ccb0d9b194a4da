"""The story of `runnel demo`: orders come in, three results stay fresh, a plain DuckDB reads them in the lake.

Nothing is staged: the server, the engine and the lake are those of any user, the shop and the reader are programs
of their own, and at the end PostgreSQL and DuckDB judge what came out.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from runnel.api import Runnel, connect
from runnel.demos import comparison
from runnel.demos.display import Display
from runnel.demos.engine import EngineThread
from runnel.demos.folder import demo_folder
from runnel.demos.processes import Program
from runnel.demos.report import Finding, Report, refresh_times
from runnel.demos.shop import CUSTOMERS, LAKE_SCHEMA, PRODUCTS, SINKS, STREAM_TABLES, Shop, found_shop
from runnel.demos.tally import Course, Tally
from runnel.lake.duck import extension_path
from runnel.servers import EmbeddedPostgres

_SESSIONS = 4
_POLL_SECONDS = 0.04
_SEEN_SECONDS = 30.0

Hook = Callable[[str], None]


def run(
    *, seconds: float = 30, rate: float = 50, as_json: bool = False, before_comparing: Hook | None = None
) -> int:
    """Tells the story and returns the exit code: 0 only if every comparison holds.

    `before_comparing` is called with the connection string when all has settled: tests break something there.
    """
    display = Display(quiet=as_json)
    try:
        with _interruptible(), demo_folder() as folder, ExitStack() as stack:
            story = _Story(display, stack, folder, seconds, rate)
            report = story.tell(before_comparing or (lambda _: None))
    except KeyboardInterrupt:
        print("ended; everything that was started has stopped", file=sys.stderr)
        return 130
    if as_json:
        print(report.to_json())
    else:
        display.report(report)
    return 0 if report.ok else 1


@dataclass(slots=True)
class _Story:
    display: Display
    stack: ExitStack
    folder: Path
    seconds: float
    rate: float

    def tell(self, before_comparing: Hook) -> Report:
        self.display.title()
        tally = Tally({name: Course() for name in STREAM_TABLES})
        shop, engine = self._set_up(tally)
        reader = self._start_reader(shop, tally)
        since = self._newest_snapshot(shop)
        tally.begin()
        self._sell(shop, tally, engine, reader)
        self._settle(shop, tally, engine, reader)
        before_comparing(shop.dsn)
        return self._judge(shop, engine.rn, reader, tally, since)

    # setting up

    def _set_up(self, tally: Tally) -> tuple[Shop, EngineThread]:
        step = self.display.step
        with step("PostgreSQL 18, brought along"):
            server = self.stack.enter_context(EmbeddedPostgres(self.folder / "postgres"))
            shop = found_shop(server, self.folder / "lake")
        rn = self.stack.enter_context(connect(shop.dsn))
        with step("a shop with 10,000 orders; Runnel's SQL API"):
            shop.open()
            rn.install(lake_schema=LAKE_SCHEMA, data_path=str(shop.data_path))
            shop.create_stream_tables()
        engine = EngineThread(rn, tally.on_event)
        self.stack.callback(engine.stop)
        with step("Spark, on this machine"):
            engine.prepare()
        with step("three stream tables are filled, two are published to the lake"):
            engine.start()
            shop.wait_until_settled(engine.check)
        return shop, engine

    def _start_reader(self, shop: Shop, tally: Tally) -> Program:
        config = {
            "extensions": [extension_path("postgres_scanner"), extension_path("ducklake")],
            "attach": shop.attach_statements(),
            "lake": "lake",
            "views": list(SINKS),
            "pause": _POLL_SECONDS,
        }
        with self.display.step("a plain DuckDB in a process of its own reads the lake"):
            reader = Program.start("read_lake", config, tally.on_sighting)
            self.stack.callback(reader.stop)
            return reader

    def _newest_snapshot(self, shop: Shop) -> int:
        with shop.connect() as conn:
            row = conn.execute(
                "SELECT max(ducklake_snapshot_id) FROM pgtrickle.pgt_ducklake_provenance"
            ).fetchone()
        return int(row[0]) if row else 0

    # selling

    def _sell(self, shop: Shop, tally: Tally, engine: EngineThread, reader: Program) -> None:
        config = {
            "dsn": shop.dsn,
            "seconds": self.seconds,
            "rate": self.rate,
            "sessions": _SESSIONS,
            "seed": 1,
        }
        writer = Program.start(
            "write_orders", config | {"customers": CUSTOMERS, "products": PRODUCTS}, tally.on_commits
        )
        self.stack.callback(writer.stop)

        def is_open() -> bool:
            for part in (engine, reader, writer):
                part.check()
            return writer.process.poll() is None

        self.display.watch(tally, self.seconds, is_open)
        writer.finish()

    def _settle(self, shop: Shop, tally: Tally, engine: EngineThread, reader: Program) -> None:
        """All committed orders refreshed, published and read; then the engine rests."""
        with self.display.step("the last orders arrive in the lake"):
            shop.refresh_all()
            shop.wait_until_settled(engine.check)
            newest, waited = self._newest_snapshot(shop), threading.Event()
            for _ in range(round(_SEEN_SECONDS / _POLL_SECONDS)):
                reader.check()
                if tally.sightings and tally.sightings[-1][0] >= newest:
                    break
                waited.wait(_POLL_SECONDS)
            engine.stop()
            engine.check()

    # judging

    def _judge(self, shop: Shop, rn: Runnel, reader: Program, tally: Tally, since: int) -> Report:
        with self.display.step("PostgreSQL and DuckDB compare everything"), shop.connect() as conn:
            findings = tuple(self._finding(conn, rn, reader, tally, name) for name in STREAM_TABLES)
            trend = comparison.trend(conn, reader, "revenue_by_region", since)
        orders = [at for _, what, at in tally.commits if what.startswith("ordered")]
        lasted = max(orders[-1] - orders[0], 1e-9) if orders else 1.0
        return Report(
            self.seconds,
            self.rate,
            tally.orders,
            round(tally.orders / lasted, 1),
            dict(tally.written),
            findings,
            trend,
            tuple(tally.problems),
        )

    def _finding(
        self, conn: comparison.Connection, rn: Runnel, reader: Program, tally: Tally, name: str
    ) -> Finding:
        course, sink = tally.courses[name], SINKS.get(name)
        p50, p99 = refresh_times(course)
        return Finding(
            name,
            course.refreshes,
            course.rows_changed,
            p50,
            p99,
            course.mode,
            comparison.against_query(conn, name),
            rn.verify(name).ok,
            sink.mode if sink else None,
            course.snapshots,
            comparison.against_view(conn, reader, name) if sink else None,
            comparison.latency(conn, name, sink.counted, tally.commits, tally.sightings) if sink else None,
        )


@contextmanager
def _interruptible() -> Iterator[None]:
    """The first Ctrl-C or SIGTERM ends the story, however often it comes; what was started is then ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        for number in previous:
            signal.signal(number, signal.SIG_IGN)
        print("\nending …", file=sys.stderr, flush=True)
        raise KeyboardInterrupt

    previous = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
