"""Workers of ours end with the program's iterator, however it goes."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from torch.utils.data import DataLoader

from tests.agent.tuning.switching_plans import Indices, switch, tuned
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.switching import switched_of

WORKERS = LoaderSetting(2, 2)


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Cycles are collected where a test says so."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def with_workers(length: int, bad: int | None = None) -> tuple[Any, list[Any]]:
    """An iterator that has given two batches, and its workers, which are ours."""
    iterator = iter(tuned(DataLoader(Indices(length, bad), batch_size=2)))
    next(iterator)
    switch(iterator, WORKERS)
    next(iterator)
    switched = switched_of(iterator)
    assert switched is not None
    return iterator, switched.state.active.iterator._workers


@pytest.mark.usefixtures("no_collection")
def test_they_end_where_the_iterator_is_garbage_in_a_cycle() -> None:
    """Python closes what belongs to garbage before it calls its ``__del__``, in which torch then waits for ever."""
    iterator, workers = with_workers(40)
    collected = threading.Event()
    switched = switched_of(iterator)
    assert switched is not None
    cycle: list[Any] = [iterator, switched.state.active.iterator]
    cycle.append(cycle)
    pids = [worker.pid for worker in workers]
    del iterator, switched, cycle, workers

    def collect() -> None:
        gc.collect()
        collected.set()

    threading.Thread(target=collect, daemon=True).start()
    has_ended = collected.wait(30)
    if not has_ended:  # the thread of the test would wait for them too
        for pid in pids:
            os.kill(pid, 9)
    assert has_ended


def test_a_forked_process_does_not_end_them() -> None:
    iterator, _ = with_workers(40)
    if not (pid := os.fork()):
        del iterator
        os._exit(0)
    os.waitpid(pid, 0)
    switched = switched_of(iterator)
    assert switched is not None
    assert not switched.state.active.iterator._workers_done_event.is_set()
    assert [batch.tolist()[0] for batch in iterator] == list(range(4, 40, 2))
