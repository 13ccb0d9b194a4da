"""The lake sinks of one database, as the engine and the public face use them."""

from __future__ import annotations

from dataclasses import dataclass

from runnel.catalog.client import load_stream_tables
from runnel.catalog.connection import connect
from runnel.refresh.scales import decimal_scales
from runnel.subscribers import Published, Publisher


@dataclass(slots=True)
class LakeSinks:
    """Publishes on connections of its own; one thread at a time."""

    dsn: str
    _publisher: Publisher | None = None

    def publish(self, pgt_id: int) -> Published | None:
        return self._publishing().publish(pgt_id)

    def remove_dropped(self) -> None:
        """Takes out of the lake what belongs to sinks that are no more."""
        self._publishing().remove_dropped()

    def close(self) -> None:
        if self._publisher is not None:
            self._publisher.close()
        self._publisher = None

    def _publishing(self) -> Publisher:
        if self._publisher is None:
            self._publisher = Publisher(self.dsn, self._decimal_scales)
        return self._publisher

    def _decimal_scales(self, pgt_id: int) -> dict[str, int]:
        """Asked once, when a sink is made."""
        with connect(self.dsn) as conn:
            table = next((t for t in load_stream_tables(conn) if t.pgt_id == pgt_id), None)
            return {} if table is None else decimal_scales(conn, table)
