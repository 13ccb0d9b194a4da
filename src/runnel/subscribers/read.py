"""Reads a stream table's change log, or its whole content, as Arrow rows of the lake's types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from adbc_driver_postgresql import dbapi

from runnel.errors import TransientError
from runnel.lake.spec import quote_name
from runnel.subscribers.columns import SinkColumn
from runnel.subscribers.sink import Sink

_AT_ONE_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@dataclass(frozen=True, slots=True)
class Delta:
    """Logged rows in the order of their refreshes, with the refresh number and the weight of each."""

    rows: pa.Table
    numbers: pa.ChunkedArray
    weights: pa.ChunkedArray


@dataclass(slots=True)
class ArrowReader:
    """One open connection that answers in Arrow."""

    dsn: str
    _connection: dbapi.Connection | None = field(default=None)

    def delta(self, sink: Sink, columns: Sequence[SinkColumn], after: int, upto: int) -> Delta:
        """The log of the refreshes in (after, upto]; rows of a committed refresh never change."""
        fields = _fields(columns, [f"a{i}" for i in range(1, len(columns) + 1)])
        query = (
            f"SELECT refresh_number, w, {fields} FROM pgtrickle_changes.stream_{sink.pgt_id}"
            f" WHERE refresh_number > {after} AND refresh_number <= {upto} ORDER BY refresh_number"
        )
        found = self._fetch([], query)
        rows = _restored(found.select(range(2, found.num_columns)), columns)
        return Delta(rows, found.column(0), found.column(1))

    def content(self, sink: Sink, columns: Sequence[SinkColumn]) -> tuple[int, pa.Table]:
        """The whole result, and the number of the refresh that it is the result of."""
        fields = _fields(columns, [quote_name(column.name) for column in columns])
        number = f"SELECT refresh_number FROM pgtrickle.pgt_stream_tables WHERE pgt_id = {sink.pgt_id}"
        result = f"SELECT {fields} FROM {quote_name(sink.schema)}.{quote_name(sink.name)}"
        try:
            numbers = self._fetch([_AT_ONE_SNAPSHOT], number)
            rows = self._fetch([], result)
        finally:
            self._end()
        if not numbers.num_rows:
            raise TransientError(f"{sink.title} was dropped meanwhile")
        return numbers.column(0)[0].as_py(), _restored(rows, columns)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _fetch(self, before: list[str], query: str) -> pa.Table:
        try:
            if self._connection is None:
                self._connection = _connect(self.dsn)
            with self._connection.cursor() as cursor:
                for statement in before:
                    cursor.execute(statement)
                cursor.execute(query)
                return cursor.fetch_arrow_table()
        except dbapi.Error as error:
            self._drop()
            raise TransientError("PostgreSQL could not be read", detail=str(error).splitlines()[0]) from None

    def _end(self) -> None:
        if self._connection is not None:
            try:
                with self._connection.cursor() as cursor:
                    cursor.execute("COMMIT")
            except dbapi.Error:
                self._drop()

    def _drop(self) -> None:
        """Forgets a connection whose state is not known; the next read opens another."""
        broken, self._connection = self._connection, None
        if broken is not None:
            broken.close()


def _connect(dsn: str) -> dbapi.Connection:
    connection = dbapi.connect(dsn, autocommit=True)
    with connection.cursor() as cursor:
        cursor.execute("SET search_path = pg_catalog")
    return connection


def _fields(columns: Sequence[SinkColumn], names: list[str]) -> str:
    return ", ".join(
        f"{column.carried(name)} AS c{i}"
        for i, (column, name) in enumerate(zip(columns, names, strict=True), 1)
    )


def _restored(rows: pa.Table, columns: Sequence[SinkColumn]) -> pa.Table:
    arrays = [column.restored(array) for column, array in zip(columns, rows.columns, strict=True)]
    return pa.Table.from_arrays(arrays, names=[f"c{i}" for i in range(1, len(arrays) + 1)])
