"""One lake as a step names it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Lake:
    """What a worker needs to attach a lake; sent to Spark's workers as it is."""

    conninfo: str = field(repr=False)
    catalog_name: str
    data_path: str
    metadata_schema: str | None = None
    create: bool = True
    use: bool = True
    memory_limit: str | None = None
    threads: int | None = None

    @property
    def schema(self) -> str:
        return self.metadata_schema or f"__ducklake_metadata_{self.catalog_name}"
