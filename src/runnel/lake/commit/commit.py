"""Takes the next snapshot id first: its primary key is the one lock that every writer of a lake knows."""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from runnel.errors import SchemaError, TransientError, UserError
from runnel.lake.catalog import SUPPORTED_VERSION, Connection, LakeCatalog
from runnel.lake.commit.apply import apply
from runnel.lake.commit.changes import Commit
from runnel.lake.commit.claim import Claim, IdAllocator
from runnel.lake.spec import Snapshot

Build = Callable[[Snapshot, IdAllocator], Commit]


def commit(
    conn: Connection,
    catalog: LakeCatalog,
    build: Build,
    *,
    author: str,
    message: str | None = None,
    extra_info: str | None = None,
    attempts: int = 10,
) -> Snapshot:
    """Makes one snapshot inside the caller's transaction, which alone decides whether it stays.

    `build` is called once, under the claim, with the snapshot before this one: what it reads of the
    catalog through `conn` cannot change any more. Upload files before, never inside.
    """
    for _ in range(attempts):
        claim = _claim(conn, catalog)
        if claim is not None:
            return _finish(claim, build(claim.base, claim.ids), author, message, extra_info)
    raise TransientError(
        f'the lake in the schema "{catalog.schema}" has too many writers',
        detail=f"{attempts} times another commit was first",
    )


def _claim(conn: Connection, catalog: LakeCatalog) -> Claim | None:
    """The claim on the next snapshot, None when another writer has just committed it."""
    _require_read_committed(conn)
    try:
        with conn.transaction():  # a savepoint: the caller's transaction is open by now
            rows = catalog.run(conn, "claim")
    except psycopg.errors.UniqueViolation:
        return None
    except psycopg.errors.LockNotAvailable as error:
        raise TransientError(
            f'the lake in the schema "{catalog.schema}" is claimed by another writer',
            detail="lock_timeout has passed",
        ) from error
    if not rows:
        raise catalog.not_a_lake("it has no snapshot")
    row = rows[0]
    if row.version != SUPPORTED_VERSION:
        raise SchemaError(
            f'the lake catalog in the schema "{catalog.schema}" has the version {row.version}',
            hint=f"use a DuckLake catalog of version {SUPPORTED_VERSION}",
        )
    base = Snapshot(row.snapshot_id, row.taken_at, row.schema_version, row.next_catalog_id, row.next_file_id)
    ids = IdAllocator(base.snapshot_id + 1, base.next_catalog_id, base.next_file_id)
    return Claim(conn, catalog, base, row.claimed_at, ids)


def _require_read_committed(conn: Connection) -> None:
    """Under a stricter level a retry would read the same stale snapshot again."""
    row = conn.execute("SELECT current_setting('transaction_isolation')").fetchone()
    if conn.info.transaction_status != psycopg.pq.TransactionStatus.INTRANS:
        raise ValueError("a lake commit needs a transaction of the caller around it")
    if row is None or row[0] != "read committed":
        raise UserError(
            f"a lake commit needs READ COMMITTED, this transaction is {row[0].upper() if row else 'unknown'}",
            hint="BEGIN ISOLATION LEVEL READ COMMITTED",
        )


def _finish(claim: Claim, work: Commit, author: str, message: str | None, extra_info: str | None) -> Snapshot:
    for requirement in work.requirements:
        requirement.check(claim)
    for change in work.changes:
        apply(claim, change)
    claim.run(
        "finish",
        schema_version=claim.schema_version,
        next_catalog_id=claim.ids.next_catalog_id,
        next_file_id=claim.ids.next_file_id,
        changes=",".join(claim.changes),
        author=author,
        message=message,
        extra_info=extra_info,
    )
    return Snapshot(
        claim.snapshot_id,
        claim.taken_at,
        claim.schema_version,
        claim.ids.next_catalog_id,
        claim.ids.next_file_id,
    )
