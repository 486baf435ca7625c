"""Outcomes come from the writer's thread to the event loop, a group at once, none lost and none twice."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from threading import Thread
from unittest.mock import patch

import pytest

from underfed_server.errors import TryLaterError
from underfed_server.ingest.answers import Answers
from underfed_server.ingest.posted import Ack, Outcome


def acknowledged(index: int) -> Ack:
    return Ack(index, wants_run=False, is_new=True)


def write(answers: Answers, group: list[Future[Outcome]]) -> None:
    """As the writer does, on a thread of its own."""

    def answer() -> None:
        for index, each in enumerate(group):
            if each.set_running_or_notify_cancel():
                each.set_result(acknowledged(index))
        answers.wake()

    thread = Thread(target=answer)
    thread.start()
    thread.join()


def test_a_group_is_answered_by_one_call_into_the_loop() -> None:
    async def post() -> tuple[list[Outcome], int]:
        answers, group = Answers(), [Future[Outcome]() for _ in range(100)]
        waiting = [asyncio.create_task(answers.of(each)) for each in group]
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        with patch.object(loop, "call_soon_threadsafe", wraps=loop.call_soon_threadsafe) as called:
            write(answers, group)
            return await asyncio.gather(*waiting), called.call_count

    outcomes, calls = asyncio.run(post())
    assert outcomes == [acknowledged(index) for index in range(100)]
    assert calls == 1


def test_what_was_written_before_anybody_waited_is_answered() -> None:
    async def post() -> Outcome:
        answers, posted = Answers(), Future[Outcome]()
        write(answers, [posted])
        return await asyncio.wait_for(answers.of(posted), 10)

    assert asyncio.run(post()) == acknowledged(0)


def test_an_error_is_raised_where_it_is_awaited_and_nowhere_else() -> None:
    async def post() -> list[Outcome | BaseException]:
        answers, group = Answers(), [Future[Outcome](), Future[Outcome]()]
        waiting = asyncio.gather(*map(answers.of, group), return_exceptions=True)
        await asyncio.sleep(0)
        group[0].set_exception(TryLaterError("full", retry_after_s=5))
        group[1].set_result(acknowledged(1))
        answers.wake()
        return await waiting

    failed, stored = asyncio.run(post())
    assert isinstance(failed, TryLaterError)
    assert stored == acknowledged(1)


def test_an_answer_that_cannot_be_given_delays_no_other(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Future[Outcome]) -> None:
        raise RuntimeError("the connection is gone")

    async def post() -> Outcome:
        answers, group = Answers(), [Future[Outcome](), Future[Outcome]()]
        answers.deliver(group[0], fail)
        waiting = asyncio.create_task(answers.of(group[1]))
        await asyncio.sleep(0)
        write(answers, group)
        return await asyncio.wait_for(waiting, 10)

    assert asyncio.run(post()) == acknowledged(1)
    assert [each.getMessage() for each in caplog.records] == ["an answer could not be given"]


def test_who_no_longer_waits_takes_the_window_back_and_delays_no_other() -> None:
    async def post() -> tuple[bool, Outcome]:
        answers, group = Answers(), [Future[Outcome](), Future[Outcome]()]
        gone, waiting = (asyncio.create_task(answers.of(each)) for each in group)
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        write(answers, group)
        return group[0].cancelled(), await asyncio.wait_for(waiting, 10)

    assert asyncio.run(post()) == (True, acknowledged(1))


def test_a_window_that_was_being_written_when_its_agent_left_delays_no_other() -> None:
    async def post() -> Outcome:
        answers, group = Answers(), [Future[Outcome](), Future[Outcome]()]
        gone, waiting = (asyncio.create_task(answers.of(each)) for each in group)
        await asyncio.sleep(0)
        assert group[0].set_running_or_notify_cancel()
        gone.cancel()
        group[0].set_result(acknowledged(0))
        group[1].set_result(acknowledged(1))
        answers.wake()
        return await asyncio.wait_for(waiting, 10)

    assert asyncio.run(post()) == acknowledged(1)


def test_a_loop_that_has_ended_is_not_called() -> None:
    answers, posted = Answers(), Future[Outcome]()

    async def leave() -> None:
        waiting = asyncio.create_task(answers.of(posted))
        await asyncio.sleep(0)
        assert posted.set_running_or_notify_cancel()
        waiting.cancel()

    asyncio.run(leave())
    posted.set_result(acknowledged(0))
    answers.wake()
