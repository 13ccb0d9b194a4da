"""The contract of versioned relations, over all three of them: scan(b) = scan(a) + changes(a, b)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.contract.subjects import CHANGES, SUBJECTS, Lakes, Streams, Tables, leaf_of

from runnel.algebra import Leaf
from runnel.relations import Read
from runnel.spark.pool import snapshots

Rows = Counter[tuple[Any, ...]]


@pytest.fixture(params=SUBJECTS)
def subject(
    request: pytest.FixtureRequest, shared_db: str, spark: SparkSession, tmp_path: Path
) -> Iterator[Tables | Streams | Lakes]:
    with SUBJECTS[request.param](shared_db, spark, tmp_path) as made:
        yield made


def _rows(reads: Iterable[Read]) -> Rows:
    """The weighted rows of all reads, consolidated."""
    found: Rows = Counter()
    with snapshots() as connections:
        for read in reads:
            for batch in read.batches(connections):
                for *row, weight in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    found[tuple(row)] += weight
    return _consolidated(found)


def _consolidated(rows: Rows) -> Rows:
    return Counter({row: weight for row, weight in rows.items() if weight})


def _plus(one: Rows, other: Rows) -> Rows:
    found = Counter(one)
    for row, weight in other.items():
        found[row] += weight
    return _consolidated(found)


def _history(subject: Tables | Streams | Lakes, leaf: Leaf) -> tuple[list[Any], list[Rows], Any]:
    """The versions after each change, what a scan said of each while it was current, and a relation's maker."""
    versions, scans = [], []
    for statement in CHANGES:
        subject.change(statement)
        versions.append(subject.version())
        with subject.relation(versions[-1], versions[-1]) as relation:
            scans.append(_rows(relation.scan(leaf, versions[-1])))
    return versions, scans, subject.relation


@pytest.mark.parametrize("only", [None, "a.k > 1"])
def test_scan_b_is_scan_a_plus_the_changes_between(
    subject: Tables | Streams | Lakes, only: str | None
) -> None:
    leaf = leaf_of(subject.scanned, subject.kind, only=only)
    versions, scans, relation = _history(subject, leaf)
    assert len({frozenset(scan.items()) for scan in scans}) > 3
    for a, b in combinations(range(len(versions)), 2):
        with relation(versions[a], versions[b]) as between:
            changes = _rows(between.changes(leaf, versions[a], versions[b]))
        assert _plus(scans[a], changes) == scans[b], f"{CHANGES[a]} … {CHANGES[b]}"


def test_rows_are_the_scan_restricted_to_keys(subject: Tables | Streams | Lakes) -> None:
    leaf = leaf_of(subject.scanned, subject.kind)
    for statement in CHANGES[:5]:
        subject.change(statement)
    at = subject.version()
    with subject.relation(at, at) as relation:
        everything = _rows(relation.scan(leaf, at))
        for keys in ([1], [2, 3], [99], [1, 2, 3]):
            wanted = Counter({row: weight for row, weight in everything.items() if row[0] in keys})
            assert _rows([relation.rows(leaf, at, (list[int | None](keys),))]) == wanted


def test_parts_are_the_whole(subject: Tables | Streams | Lakes) -> None:
    leaf = leaf_of(subject.scanned, subject.kind)
    before = subject.version()
    for statement in CHANGES[:4]:
        subject.change(statement)
    at = subject.version()
    with subject.relation(before, at) as relation:
        assert _rows(relation.scan(leaf, at, 3)) == _rows(relation.scan(leaf, at))
        assert _rows(relation.changes(leaf, before, at, 3)) == _rows(relation.changes(leaf, before, at))
        assert _rows(relation.scan(leaf, at)) == _rows(relation.changes(leaf, before, at))


def test_nothing_changed_between_equal_versions(subject: Tables | Streams | Lakes) -> None:
    leaf = leaf_of(subject.scanned, subject.kind)
    subject.change(CHANGES[0])
    at = subject.version()
    with subject.relation(at, at) as relation:
        assert not _rows(relation.changes(leaf, at, at))


def test_a_stream_table_also_answers_for_earlier_refreshes(
    shared_db: str, spark: SparkSession, tmp_path: Path
) -> None:
    """A round that refreshes several levels reads what is below it as of a pinned number."""
    with SUBJECTS["stream"](shared_db, spark, tmp_path) as subject:
        leaf = leaf_of(subject.scanned, subject.kind)
        versions, scans, relation = _history(subject, leaf)
        with relation(versions[0], versions[-1]) as newest:
            for version, scan in zip(versions, scans, strict=True):
                assert _rows(newest.scan(leaf, version)) == scan
                keyed = Counter({row: weight for row, weight in scan.items() if row[0] in (1, 3)})
                assert _rows([newest.rows(leaf, version, ([1, 3],))]) == keyed


def test_changes_of_rolled_back_transactions_never_were(
    shared_db: str, spark: SparkSession, tmp_path: Path
) -> None:
    with SUBJECTS["table"](shared_db, spark, tmp_path) as subject:
        leaf = leaf_of(subject.scanned, subject.kind)
        before = subject.version()
        subject.change("BEGIN; INSERT INTO {t} VALUES (1, 'x', 1); SAVEPOINT s; DELETE FROM {t}; ROLLBACK")
        subject.change(
            "BEGIN; INSERT INTO {t} VALUES (2, 'y', 1); SAVEPOINT s; DELETE FROM {t}; ROLLBACK TO s; COMMIT"
        )
        after = subject.version()
        with subject.relation(before, after) as relation:
            assert _rows(relation.changes(leaf, before, after)) == Counter({(2, "y", "1.00"): 1})
