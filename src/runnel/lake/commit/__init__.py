"""Commits to a lake: changes as data, made under a claim inside the caller's transaction."""

from runnel.lake.commit.changes import (
    Append,
    Change,
    Commit,
    CreateOrReplaceView,
    CreateSchema,
    CreateTable,
    DropTable,
    DropView,
    Overwrite,
    Tag,
)
from runnel.lake.commit.claim import Claim, IdAllocator
from runnel.lake.commit.commit import commit
from runnel.lake.commit.requirements import NoConflict, Requirement, SameTable

__all__ = [
    "Append",
    "Change",
    "Claim",
    "Commit",
    "CreateOrReplaceView",
    "CreateSchema",
    "CreateTable",
    "DropTable",
    "DropView",
    "IdAllocator",
    "NoConflict",
    "Overwrite",
    "Requirement",
    "SameTable",
    "Tag",
    "commit",
]
