"""Of each caller only so many answers are made at one time; others do not wait for theirs."""

from __future__ import annotations

import asyncio

import pytest

from underfed_server.api.admission.turns import MOST_AT_ONCE, Turns
from underfed_server.ingest.asgi import Message


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
