"""What a playbook may say: the text a user wrote, checked once, at the edge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from runnel.playbook.routing import Route, routes_of

DEFAULT_CONCURRENCY = 8
TOOLS = ("ducklake",)

# Parts of the language which exist elsewhere and are refused by name rather than passed over in silence.
_NOT_YET = {
    "case": "use next with when/then",
    "retry": "a transaction conflict is retried by itself; run the playbook again for the rest",
    "sink": "write the rows with a further ducklake step",
    "workbook": "write its tasks as steps of the workflow",
}


def _no_unsupported(data: Any) -> Any:
    if isinstance(data, Mapping):
        for name, instead in _NOT_YET.items():
            if name in data:
                raise ValueError(f"{name} is not supported yet: {instead}")
    return data


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Loop(_Strict):
    """The collection a step runs over, one item after the other or many at once."""

    collection: Any
    element: str = Field(pattern=r"^[A-Za-z_]\w*$")
    mode: Literal["sequential", "async"] = "sequential"
    concurrency: int = Field(default=DEFAULT_CONCURRENCY, ge=1, le=1000)
    where: str | None = None
    order_by: str | None = None
    limit: int | None = Field(default=None, ge=0)
    chunk: int | None = Field(default=None, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _later_forms(cls, data: Any) -> Any:
        """`in`, `iterator`, `spec: {mode}` and `parallel` are what later versions call the same things."""
        if not isinstance(data, Mapping):
            return data
        loop = {**data, **(data.get("spec") or {})}
        loop.pop("spec", None)
        for later, name in (("in", "collection"), ("iterator", "element"), ("max_in_flight", "concurrency")):
            if later in loop:
                loop[name] = loop.pop(later)
        if loop.get("mode") == "parallel":
            loop["mode"] = "async"
        return loop

    @property
    def ordered(self) -> bool:
        return self.mode == "sequential"


class Ducklake(_Strict):
    """The fields of the ducklake tool."""

    auth: Any = None
    catalog_connection: str | None = None
    credentials: Any = None
    catalog_name: str = Field(min_length=1)
    data_path: str = Field(min_length=1)
    command: str | None = None
    commands: tuple[str, ...] | None = None
    create_catalog: bool = True
    use_catalog: bool = True
    memory_limit: str | None = None
    threads: int | str | None = None
    metadata_schema: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Ducklake:
        if (self.command is None) == (self.commands is None):
            raise ValueError("the ducklake tool needs one of command and commands")
        return self

    @property
    def texts(self) -> tuple[str, ...]:
        return self.commands if self.commands is not None else (self.command or "",)

    @property
    def credential(self) -> Any:
        return self.auth if self.auth is not None else self.credentials


class Step(_Strict):
    step: str = Field(min_length=1)
    desc: str | None = None
    tool: Ducklake | None = None
    args: dict[str, Any] = {}
    vars: dict[str, Any] = {}
    loop: Loop | None = None
    next: Annotated[tuple[Route, ...], BeforeValidator(routes_of)] = ()

    @model_validator(mode="before")
    @classmethod
    def _tool_fields(cls, data: Any) -> Any:
        """The tool's fields stand on the step (`tool: ducklake`) or inside (`tool: {kind: ducklake, …}`)."""
        _no_unsupported(data)
        if not isinstance(data, Mapping) or "tool" not in data:
            return data
        tool = data["tool"]
        fields = dict(tool) if isinstance(tool, Mapping) else {"kind": tool}
        kind = fields.pop("kind", None)
        if kind not in TOOLS:
            raise ValueError(f"tool {kind!r} is not known: the tool is {', '.join(TOOLS)}")
        own = {name: value for name, value in data.items() if name in cls.model_fields and name != "tool"}
        inline = {name: value for name, value in data.items() if name in Ducklake.model_fields}
        rest = {name: value for name, value in data.items() if name not in own and name not in inline}
        rest.pop("tool")
        return {**own, **rest, "tool": {**inline, **fields}}

    @model_validator(mode="after")
    def _loop_has_tool(self) -> Step:
        if self.loop and not self.tool:
            raise ValueError("a loop needs a tool to run for each of its items")
        return self


class Metadata(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    path: str | None = None
    description: str | None = None


class Playbook(_Strict):
    apiVersion: str = "noetl.io/v1"  # noqa: N815 - the documents' own spelling
    kind: Literal["Playbook"] = "Playbook"
    metadata: Metadata
    workload: dict[str, Any] = {}
    keychain: list[dict[str, Any]] = []
    workflow: tuple[Step, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _supported(cls, data: Any) -> Any:
        return _no_unsupported(data)

    @model_validator(mode="after")
    def _steps_are_known(self) -> Playbook:
        names = [step.step for step in self.workflow]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f'step "{name}" is there twice')
        for step, route in self._routes():
            if route.step not in names and route.step != "end":
                raise ValueError(
                    f'step "{step.step}" goes on to "{route.step}", which is no step: '
                    f"there are {', '.join(names)}"
                )
        return self

    def _routes(self) -> Iterator[tuple[Step, Route]]:
        return ((step, route) for step in self.workflow for route in step.next)

    @property
    def first(self) -> Step:
        return self.find("start") or self.workflow[0]

    def find(self, name: str) -> Step | None:
        return next((step for step in self.workflow if step.step == name), None)
