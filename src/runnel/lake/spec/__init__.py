"""The pure vocabulary of a lake: no connection, no file, no engine."""

from runnel.lake.spec.names import (
    describe_change,
    near_names,
    quote_name,
    quote_text,
    split_changes,
    table_path,
    uuid7,
)
from runnel.lake.spec.nodes import (
    Column,
    DataFile,
    DeleteFile,
    InlinedTable,
    Snapshot,
    Table,
    TableName,
    ViewDefinition,
    flatten,
    new_columns,
)
from runnel.lake.spec.statistics import ColumnStatistics, TableColumnStatistics, merge_statistics
from runnel.lake.spec.types import DataType

__all__ = [
    "Column",
    "ColumnStatistics",
    "DataFile",
    "DataType",
    "DeleteFile",
    "InlinedTable",
    "Snapshot",
    "Table",
    "TableColumnStatistics",
    "TableName",
    "ViewDefinition",
    "describe_change",
    "flatten",
    "merge_statistics",
    "near_names",
    "new_columns",
    "quote_name",
    "quote_text",
    "split_changes",
    "table_path",
    "uuid7",
]
