"""What a data set raises where the script has no workers and ours load."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from torch import Tensor
from torch.utils.data import DataLoader, dataloader

import underfed
from tests.agent.test_signal_handlers import Handler
from tests.agent.tuning.switching_plans import Indices, switch, tuned, use_from_now_on
from underfed.trainer import control
from underfed.trainer.hooks.session import Session
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.own_errors import INTERRUPTED, MOST_TRIES
from underfed.trainer.tuning.switching import switched_of

WORKERS = LoaderSetting(2, 2)


class UnreadableError(Exception):
    """Not to be made from one text."""

    def __init__(self, index: int, why: str) -> None:
        super().__init__(index, why)


class Unreadable(Indices):
    def __getitem__(self, index: int) -> int:
        if index == self.bad:
            raise UnreadableError(index, "torn")
        return index


class OnlyHere(Indices):
    """Loads in the training process alone."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.pid = os.getpid()

    def __getitem__(self, index: int) -> int:
        if index > 9 and os.getpid() != self.pid:
            raise ValueError("not in a worker")
        return index


class Stuck(OnlyHere):
    """Waits in a worker for ever, as for a thread that was not forked."""

    def __getitem__(self, index: int) -> int:
        if index == 10 and os.getpid() != self.pid:
            time.sleep(600)
        return index


@pytest.fixture(autouse=True)
def no_tuner_left() -> Iterator[None]:
    yield
    gc.collect()  # an exception of torch's may hold the frame that raised it, and by that an iterator
    underfed.finish()
    control._state.tuner = None


def taken(iterator: Any) -> list[Any]:
    """All batches, and the exceptions among them: type, arguments, innermost function, context."""
    handled = sys.exc_info()[1]
    found: list[Any] = []
    while True:
        try:
            batch = next(iterator)
            found.append(batch.tolist() if isinstance(batch, Tensor) else batch)
        except StopIteration:
            return found
        except UnreadableError as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            found.append((error.args, where.name, error.__context__ if error.__context__ is not handled else None))
            traceback.clear_frames(error.__traceback__)


EXPECTED = [[0, 1], [2, 3], ((5, "torn"), "__getitem__", None), [6, 7], [8, 9]]


def test_what_the_data_set_raises_comes_out_as_the_script_would_have_it() -> None:
    iterator = iter(tuned(DataLoader(Unreadable(10, bad=5), batch_size=2)))
    first = next(iterator).tolist()
    switch(iterator, WORKERS)
    assert [first, *taken(iterator)] == EXPECTED


def test_batches_of_our_workers_are_seen_to_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many are ready is not known where some came that were not counted."""
    asked, known = Session.ask, []

    def noted(session: Session, iterator: Any) -> int:
        if session.qsize is not None:
            known.append(asked(session, iterator) > 0)
        return asked(session, iterator)

    monkeypatch.setattr(Session, "ask", noted)
    loader = tuned(DataLoader(Indices(40), batch_size=2))
    iterator = iter(loader)
    next(iterator)
    switch(iterator, WORKERS)
    list(iterator)
    assert len(list(loader)) == 20
    assert len(known) > 30 and all(known)
    tuner = control._state.tuner
    facts = tuner._watched.facts if tuner is not None and tuner._watched is not None else None
    assert facts is not None and "queue_depth" not in facts.not_measured


@pytest.mark.parametrize("batch_size", [2, None])
def test_it_does_so_in_passes_that_begin_with_our_workers(batch_size: int | None) -> None:
    loader = tuned(DataLoader(Unreadable(10, bad=5), batch_size=batch_size))
    tuner = control._state.tuner
    assert tuner is not None
    alone = taken(iter(loader))
    use_from_now_on(tuner, WORKERS)
    iterator = iter(loader)
    assert len(iterator) == len(loader)
    assert taken(iterator) == alone
    switched = switched_of(iterator)
    assert switched is not None and switched.setting == WORKERS


def test_a_worker_that_never_loads_a_batch_is_waited_for_no_longer_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("underfed.trainer.tuning.own_errors.PATIENCE_S", 0.5)
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 0.5)  # how long its end is waited for
    iterator = iter(tuned(DataLoader(Stuck(40), batch_size=2)))
    first = next(iterator).tolist()
    switch(iterator, WORKERS)
    assert [first, *taken(iterator)] == [[each, each + 1] for each in range(0, 40, 2)]
    switched, tuner = switched_of(iterator), control._state.tuner
    assert switched is not None and switched.setting == LoaderSetting(0)
    assert tuner is not None and tuner.conductor is not None
    assert str(tuner.conductor.reason).startswith("workers gave no batch within 0.5 s; it could have workers if ")


class Killed(OnlyHere):
    """Ends a worker, as a library that may not be used in a forked process, or a host that is out of memory."""

    def __getitem__(self, index: int) -> int:
        if index == 10 and os.getpid() != self.pid:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


@pytest.mark.parametrize("is_waited_for", [True, False])
def test_a_worker_of_ours_that_is_killed_is_not_the_end_of_a_script_that_has_none(is_waited_for: bool) -> None:
    iterator = iter(tuned(DataLoader(Killed(40), batch_size=2)))
    first = next(iterator).tolist()
    switch(iterator, WORKERS)
    found = [first]
    if not is_waited_for:
        found.append(next(iterator).tolist())
        switched = switched_of(iterator)
        assert switched is not None and not switched.is_switching
        # It ends while the program computes: torch's own handler would raise here.
        switched.state.active.iterator._workers[0].join(10)
    assert [*found, *taken(iterator)] == [[each, each + 1] for each in range(0, 40, 2)]
    tuner = control._state.tuner
    assert tuner is not None and tuner.conductor is not None
    assert tuner.conductor.reason == "a worker ended before its batch had come (SIGKILL)"


class Unsent(OnlyHere):
    """Of which some batches hold what no worker can send."""

    def __getitem__(self, index: int) -> Any:
        return index if index < 10 else {"index": index, "read": lambda: index}


def first_of(samples: list[Any]) -> Any:
    return samples[0]


def test_a_late_batch_that_cannot_be_sent_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("underfed.trainer.tuning.own_errors.PATIENCE_S", 0.5)
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 0.5)
    iterator = iter(tuned(DataLoader(Unsent(20), collate_fn=first_of)))
    next(iterator)
    switch(iterator, WORKERS)
    assert [each if isinstance(each, int) else each["index"] for each in taken(iterator)] == [*range(1, 20)]
    tuner = control._state.tuner
    assert tuner is not None and tuner.conductor is not None
    reason = str(tuner.conductor.reason)
    assert reason.startswith("its batches cannot be sent by a worker: ") and "if its batches held data alone" in reason


@pytest.mark.parametrize("is_first", [True, False])
def test_what_loads_in_the_training_process_alone_goes_back_there(
    is_first: bool,
) -> None:
    loader = tuned(DataLoader(OnlyHere(40), batch_size=2))
    tuner = control._state.tuner
    assert tuner is not None
    iterator = iter(loader)
    first = next(iterator).tolist()
    if is_first:
        switch(iterator, WORKERS)
    else:
        use_from_now_on(tuner, WORKERS)
        iterator = iter(loader)
        first = next(iterator).tolist()
    assert [first, *taken(iterator)] == [[each, each + 1] for each in range(0, 40, 2)]
    switched = switched_of(iterator)
    assert switched is not None and switched.setting == LoaderSetting(0)
    assert tuner.conductor is not None
    assert "a batch that the training process could load" in str(tuner.conductor.reason)
    assert [batch.tolist()[0] for batch in loader] == list(range(0, 40, 2))
    assert loader.num_workers == 0


def test_requests_that_a_signal_handler_ends_again_and_again_are_no_end_of_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An alarm may raise while what a worker sent is read, which is lost then; and before a minute is over again."""

    def interrupted(*_: Any) -> None:
        signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, Handler(TimeoutError).plain)
    loader = tuned(DataLoader(Indices(40), batch_size=2))
    iterator = iter(loader)
    found = [next(iterator).tolist()]
    switch(iterator, WORKERS)
    monkeypatch.setattr(dataloader._MultiProcessingDataLoaderIter, "_try_get_data", interrupted)
    requests = 0
    while requests < 60:
        requests += 1
        try:
            found.append(next(iterator).tolist())
        except TimeoutError:
            continue
        except StopIteration:
            break
    signal.signal(signal.SIGUSR1, before)
    assert found == [[each, each + 1] for each in range(0, 40, 2)]
    assert requests == 20 + MOST_TRIES
    switched, tuner = switched_of(iterator), control._state.tuner
    assert switched is not None and switched.setting == LoaderSetting(0)
    assert tuner is not None and tuner.conductor is not None and tuner.conductor.reason == INTERRUPTED
    assert loader.num_workers == 0
