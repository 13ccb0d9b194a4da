"""What a commit may do, as data; `apply` knows the rows that each of them means."""

from __future__ import annotations

from dataclasses import dataclass

from runnel.lake.commit.requirements import Requirement
from runnel.lake.files import WrittenFile
from runnel.lake.spec import Table, TableName


@dataclass(frozen=True, slots=True)
class CreateSchema:
    name: str


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Creates what `LakeCatalog.new_table` has planned; the name must be free.

    A table to which only files will be added needs no place for inlined rows, which every reader would look into.
    """

    table: Table
    holds_inlined: bool = True


@dataclass(frozen=True, slots=True)
class Append:
    """Adds files to a table, which must still have the columns that they were written with."""

    table: Table
    files: tuple[WrittenFile, ...]


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Ends every row that lives, then adds the files: the table's whole content is replaced."""

    table: Table
    files: tuple[WrittenFile, ...]


@dataclass(frozen=True, slots=True)
class DropTable:
    table: Table


@dataclass(frozen=True, slots=True)
class CreateOrReplaceView:
    """A view in DuckDB's SQL, which names tables as `{DUCKLAKE_CATALOG}.schema.table`."""

    name: TableName
    sql: str
    column_names: tuple[str, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()  # the key `comment` is the view's comment


@dataclass(frozen=True, slots=True)
class DropView:
    name: TableName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Tag:
    """Sets a tag of a table or a view; None removes it, the key `comment` is the comment."""

    name: TableName
    key: str
    value: str | None


Change = CreateSchema | CreateTable | Append | Overwrite | DropTable | CreateOrReplaceView | DropView | Tag


@dataclass(frozen=True, slots=True)
class Commit:
    """One snapshot: its requirements are checked under the claim, then its changes made in order."""

    changes: tuple[Change, ...]
    requirements: tuple[Requirement, ...] = ()
