"""Running a playbook: one step after the other, along the routes whose conditions hold."""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from runnel.errors import RunnelError, UserError
from runnel.playbook.context import Context, with_overrides
from runnel.playbook.credentials import Credentials, connection_text
from runnel.playbook.document import Ducklake, Loop, Playbook, Step
from runnel.playbook.ducklake.items import Item
from runnel.playbook.ducklake.lake import Lake
from runnel.playbook.ducklake.tool import Visit, run_commands, run_loop
from runnel.playbook.loops import element_names, elements_of
from runnel.playbook.reading import read_playbook
from runnel.playbook.result import Event, PlaybookResult, StepResult
from runnel.playbook.routing import Route, taken, unconditional
from runnel.playbook.secrets import hide
from runnel.playbook.sessions import borrowed_session
from runnel.playbook.templates import holds, names_in, render, render_sql

OnEvent = Callable[[Event], None]

# A workflow may come back to a step; one that never ends is told rather than run for ever.
_MOST_VISITS = 10_000


def run_playbook(
    path: Path | str,
    *,
    dsn: str | None = None,
    data_path: Path | str | None = None,
    spark: SparkSession | None = None,
    overrides: Mapping[str, Any] | None = None,
    on_event: OnEvent | None = None,
) -> PlaybookResult:
    """Run the playbook of a file; a step that fails ends the run with status `error`.

    `dsn` and `data_path` stand in for what the steps name as their catalog database and data path,
    `overrides` for values of the workload. A Spark session is made for the first loop unless one is given.
    Raises UserError, before any step runs, for a playbook that cannot be read or lacks a credential.
    """
    playbook = read_playbook(Path(path))
    workload = with_overrides(playbook.workload, overrides or {})
    with ExitStack() as held:
        run = _Run(
            playbook,
            Context(str(uuid.uuid4()), render(workload, workload)),
            Credentials(playbook.keychain),
            connection_text(dsn) if dsn else None,
            str(data_path) if data_path else None,
            on_event or (lambda _: None),
            lambda: spark or held.enter_context(borrowed_session()),
        )
        run.check_credentials()
        return run.all_steps()


@dataclass(slots=True)
class _Run:
    playbook: Playbook
    context: Context
    credentials: Credentials
    dsn: str | None
    data_path: str | None
    on_event: OnEvent
    make_spark: Callable[[], SparkSession]
    results: list[StepResult] = field(default_factory=list)
    _spark: SparkSession | None = None

    def spark(self) -> SparkSession:
        self._spark = self._spark or self.make_spark()
        return self._spark

    def check_credentials(self) -> None:
        """A credential that is missing is told before the first step has changed anything."""
        known = self.context.names()
        for step in self.playbook.workflow:
            if step.tool is not None and self.dsn is None:
                asked = names_in([step.tool.credential, step.tool.catalog_connection])
                if asked <= known.keys() | {"workload", "execution_id"}:
                    with _told_of(step):
                        self._connection(step.tool, known)

    def all_steps(self) -> PlaybookResult:
        begun = time.perf_counter()
        waiting: deque[tuple[Step, Mapping[str, Any]]] = deque([(self.playbook.first, {})])
        failed = False
        while waiting:
            if len(self.results) == _MOST_VISITS:
                raise UserError(
                    f"the workflow has not ended after {_MOST_VISITS} steps", hint="check its next: routes"
                )
            step, args = waiting.popleft()
            routes, failed = self._visit(step.model_copy(update={"args": {**step.args, **args}}))
            if failed and not routes:
                break
            waiting.extend(
                (found, route.args) for route in routes if (found := self.playbook.find(route.step))
            )
        return PlaybookResult(
            self.playbook.metadata.name,
            self.context.execution_id,
            "error" if failed else "ok",
            tuple(self.results),
            dict(self.context.variables),
            time.perf_counter() - begun,
        )

    def _visit(self, step: Step) -> tuple[tuple[Route, ...], bool]:
        """One step: its response, its variables, and where to go on."""
        begun = time.perf_counter()
        self._tell("step.enter", step, {})
        variables: dict[str, Any] = {}
        routes: tuple[Route, ...] = ()
        response: dict[str, Any] = {"status": "ok"}
        try:
            with _told_of(step):
                step = step.model_copy(update={"args": render(step.args, self.context.names())})
                response = self._work(step)
                variables = self._variables(step, response)
                routes = self._routes(step, response)
        except RunnelError as error:
            kept = response if response["status"] == "ok" and "result" in response else {}
            response = {**kept, "status": "error", **_told(error)}
            with suppress(RunnelError):  # a condition may need what the failed step has not given
                routes = self._routes(step, response)
        self.context.keep(step.step, response)
        self.context.variables.update(variables)
        seconds = time.perf_counter() - begun
        self.results.append(StepResult(step.step, response["status"], response, variables, seconds))
        self._tell("step.exit", step, {"status": response["status"]})
        return routes, response["status"] == "error"

    def _work(self, step: Step) -> dict[str, Any]:
        if step.tool is None:
            return {"status": "ok"}
        visit = Visit(
            self.context.execution_id, step.step, sum(each.step == step.step for each in self.results)
        )
        names = self.context.names(step)
        if step.loop is not None:
            return self._loop(step, step.tool, step.loop, visit)
        commands = [render_sql(text, names) for text in step.tool.texts]
        response = run_commands(self._lake(step.tool, names), commands, visit)
        self._tell("call.done", step, response)
        return response

    def _loop(self, step: Step, tool: Ducklake, loop: Loop, visit: Visit) -> dict[str, Any]:
        names = self.context.names(step)
        elements = elements_of(loop, names)
        items = []
        for index, element in enumerate(elements):
            own = names | element_names(loop, element, index, len(elements))
            items.append(Item(index, tuple(render_sql(text, own) for text in tool.texts)))
        partitions = 1 if loop.ordered else loop.concurrency
        response = run_loop(
            self._lake(tool, names),
            items,
            elements,
            visit,
            partitions=partitions,
            ordered=loop.ordered,
            spark=self.spark,
        )
        if "error" in response:
            response["error"] = f'step "{step.step}": {response["error"]}'
        for result in response["result"]["results"]:
            self._tell("loop.item", step, result)
        self._tell("loop.done", step, response["result"]["stats"])
        return response

    def _lake(self, tool: Ducklake, names: Mapping[str, Any]) -> Lake:
        return Lake(
            self._connection(tool, names),
            str(render(tool.catalog_name, names)),
            self.data_path or str(render(tool.data_path, names)),
            tool.metadata_schema and str(render(tool.metadata_schema, names)),
            tool.create_catalog,
            tool.use_catalog,
            tool.memory_limit and str(render(tool.memory_limit, names)),
            _threads(render(tool.threads, names)),
        )

    def _connection(self, tool: Ducklake, names: Mapping[str, Any]) -> str:
        if self.dsn is not None:
            return self.dsn
        if tool.catalog_connection:
            return self.credentials.connection(str(render(tool.catalog_connection, names)), None)
        return self.credentials.connection(None, render(tool.credential, names))

    def _variables(self, step: Step, response: Mapping[str, Any]) -> dict[str, Any]:
        if response["status"] != "ok":
            return {}
        own = {**(response.get("result") or {}), **response}
        names = self.context.names(step, result=response.get("result") or {}, response=own, error=None)
        return {name: render(template, names) for name, template in step.vars.items()}

    def _routes(self, step: Step, response: Mapping[str, Any]) -> tuple[Route, ...]:
        """The routes that hold at the first event where any does, else those without condition."""
        error = response.get("error")
        for name in ("loop.done" if step.loop else "call.done", "step.exit"):
            event = {"name": name, "step": step.step, "payload": response, "timestamp": _now().isoformat()}
            names = {
                **self.context.names(step, result=response.get("result") or {}, error=error, event=event),
                step.step: {**(response.get("result") or {}), **response},
            }
            # After a failure a route has to ask for it: "the loop is done" alone is no reason to go on.
            found = taken(step.next, lambda when, names=names: _asks(when, error) and holds(when, names))  # type: ignore[misc]
            if found:
                return found
        return () if error else unconditional(step.next)

    def _tell(self, name: str, step: Step, payload: Mapping[str, Any]) -> None:
        self.on_event(Event(name, step.step, payload, _now()))


def _threads(value: Any) -> int | None:
    if value is None:
        return None
    if str(value).isdigit() and int(value) > 0:
        return int(value)
    raise UserError(f"threads is {value!r}, not a number of threads")


def _asks(when: str, error: object) -> bool:
    return error is None or bool(
        names_in(when if "{{" in when else f"{{{{ {when} }}}}") & {"error", "result"}
    )


def _told(error: RunnelError) -> dict[str, Any]:
    parts = {"error": error.message, "detail": error.detail, "hint": error.hint}
    return {name: hide(text) for name, text in parts.items() if text}


@contextmanager
def _told_of(step: Step) -> Iterator[None]:
    """Errors inside say which step they are of."""
    try:
        yield
    except RunnelError as error:
        error.message = f'step "{step.step}": {error.message}'
        raise


def _now() -> datetime:
    return datetime.now(UTC)
