"""A caller waits for its refresh, answered by an engine that this test plays."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import psycopg
import pytest

from runnel.catalog import requests

from .conftest import World, create, one


@contextmanager
def engine(dsn: str, answers: dict[int, UUID | str]) -> Iterator[list[int]]:
    """Answers requests until the block ends; returns which stream tables it was asked for."""
    asked: list[int] = []
    stopped = threading.Event()

    def loop() -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            while not stopped.wait(0.02):
                for request in requests.pending_requests(conn):
                    asked.append(request.pgt_id)
                    answer = answers[request.pgt_id]
                    if isinstance(answer, UUID):
                        requests.finish_request(conn, request, refresh_id=answer)
                    else:
                        requests.finish_request(conn, request, error=answer)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield asked
    finally:
        stopped.set()
        thread.join()


@pytest.fixture
def two(world: World) -> World:
    create(world.alice, "ids", "SELECT id FROM orders")
    create(world.alice, "regions", "SELECT region FROM orders")
    return world


def test_the_caller_gets_the_id_of_its_refresh(two: World) -> None:
    answer = uuid4()
    with engine(two.engine_dsn, {1: answer}) as asked:
        assert one(two.alice, "SELECT pgtrickle.refresh_stream_table('ids')") == answer
        assert one(two.alice, "SELECT pgtrickle.refresh_stream_table('ids')") == answer
    assert set(asked) == {1}
    assert requests.pending_requests(two.engine) == ()


def test_an_old_answer_does_not_serve_a_new_request(two: World) -> None:
    with engine(two.engine_dsn, {1: uuid4()}):
        two.alice.execute("SELECT pgtrickle.refresh_stream_table('ids')")
    with pytest.raises(psycopg.Error, match=r"was not refreshed within 00:00:00.2") as caught:
        two.alice.execute("SELECT pgtrickle.refresh_stream_table('ids', timeout => '200ms')")
    assert "runnel run" in str(caught.value.diag.message_hint)


def test_an_error_reaches_the_caller(two: World) -> None:
    with (
        engine(two.engine_dsn, {2: "division by zero"}),
        pytest.raises(psycopg.Error, match="division by zero"),
    ):
        two.alice.execute("SELECT pgtrickle.refresh_stream_table('regions')")


def test_a_request_that_nobody_waits_for_is_kept(two: World) -> None:
    before = requests.last_signal(two.engine)
    with two.alice.transaction():
        assert one(two.alice, "SELECT pgtrickle.refresh_stream_table('ids', wait => false)") is None
        assert requests.last_signal(two.engine) > before
    (request,) = requests.pending_requests(two.engine)
    assert request.pgt_id == 1
    requests.finish_request(two.engine, request, refresh_id=uuid4())
    assert requests.pending_requests(two.engine) == ()


def test_a_request_is_seen_before_its_commit(two: World) -> None:
    answer = uuid4()
    with engine(two.engine_dsn, {1: answer}), two.alice.transaction():
        two.alice.execute("INSERT INTO orders (region) VALUES ('eu')")
        assert one(two.alice, "SELECT pgtrickle.refresh_stream_table('ids')") == answer


def test_what_can_never_come_is_refused_at_once(two: World) -> None:
    with pytest.raises(psycopg.Error, match="in this very transaction"), two.alice.transaction():
        create(two.alice, "young", "SELECT id FROM orders")
        two.alice.execute("SELECT pgtrickle.refresh_stream_table('young')")
    with pytest.raises(psycopg.Error, match="in this very transaction"), two.alice.transaction():
        with two.alice.transaction():
            two.alice.execute("SELECT pgtrickle.alter_stream_table('ids', schedule => '1s')")
        two.alice.execute("SELECT pgtrickle.refresh_stream_table('ids')")
    with pytest.raises(psycopg.Error, match="READ COMMITTED"), two.alice.transaction():
        two.alice.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        two.alice.execute("SELECT pgtrickle.refresh_stream_table('ids')")
    two.alice.execute("SELECT pgtrickle.pause_stream_table('ids')")
    with pytest.raises(psycopg.Error, match="is suspended: paused by"):
        two.alice.execute("SELECT pgtrickle.refresh_stream_table('ids')")
    with pytest.raises(psycopg.Error, match="stream table nothing does not exist"):
        two.alice.execute("SELECT pgtrickle.refresh_stream_table('nothing')")


def test_a_reader_may_ask_too(two: World) -> None:
    two.alice.execute("GRANT USAGE ON SCHEMA app TO PUBLIC")
    with pytest.raises(psycopg.Error, match=r"you may not read stream table app.ids"):
        two.mallory.execute("SELECT pgtrickle.refresh_stream_table('app.ids')")
    two.alice.execute("GRANT SELECT ON ids TO PUBLIC")
    answer = uuid4()
    with engine(two.engine_dsn, {1: answer}):
        assert one(two.mallory, "SELECT pgtrickle.refresh_stream_table('app.ids')") == answer
