"""Of each caller only so many answers are made at one time; others do not wait for theirs."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Semaphore
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.conftest import on_sqlite_alone
from underfed_server.api.admission.turns import MOST_AT_ONCE, Turns
from underfed_server.ingest.asgi import Message
from underfed_server.main import Application


def test_a_caller_waits_for_its_own_answers_alone() -> None:
    async def asked() -> None:
        turns = Turns()
        begun = [await turns.next("greedy") for _ in range(MOST_AT_ONCE)]
        waiting = asyncio.create_task(turns.next("greedy"))
        gone = asyncio.create_task(turns.next("greedy"))
        other = await asyncio.wait_for(turns.next("other"), 5)
        assert not waiting.done()
        gone.cancel()
        begun[0].end()
        begun[0].end()
        begun.append(await asyncio.wait_for(waiting, 5))
        another = asyncio.create_task(turns.next("greedy"))
        await asyncio.sleep(0)
        assert not another.done(), "one turn that ends twice is one"
        for each in (*begun, other):
            each.end()
        (await another).end()
        assert turns._of == {}

    asyncio.run(asked())


@pytest.mark.parametrize("kind", ["http.response.start", "http.response.body"])
def test_a_turn_ends_when_the_answer_begins(kind: str) -> None:
    """An event stream is sent for hours, an export for minutes."""

    async def answered() -> None:
        turns, sent = Turns(), []

        async def send(message: Message) -> None:
            assert turns._of == {}
            sent.append(message["type"])

        turn = await turns.next("caller")
        await turn.until_answered(send)({"type": kind})
        turn.end()
        assert sent == [kind]

    asyncio.run(answered())


@on_sqlite_alone
def test_who_asks_for_much_keeps_nobody_else_waiting(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = Semaphore(0), Event()
    store = application.parts.store
    read = store.runs

    def slow(*asked: Any) -> bytes:
        begun.release()
        assert may_end.wait(30)
        return read(*asked)

    monkeypatch.setattr(type(store), "runs", lambda _, *asked: slow(*asked))
    greedy, other = (TestClient(application, base_url="http://127.0.0.1:7077", client=(f"127.0.0.{number}", 1))
                     for number in (1, 2))  # fmt: skip
    # Beside the 40 threads that answer all requests the clients need their own.
    with greedy, ThreadPoolExecutor(50) as pool:
        waiting = [pool.submit(greedy.get, "/api/v1/runs") for _ in range(50)]
        for _ in range(MOST_AT_ONCE):
            assert begun.acquire(timeout=30)
        try:
            assert not begun.acquire(timeout=0.5)
            assert other.get("/api/v1/service").status_code == 200
            assert greedy.get("/healthz").status_code == 200
        finally:
            may_end.set()
        assert {each.result().status_code for each in waiting} == {200}
