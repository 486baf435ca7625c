"""Workers of ours where the script has none, and what the script asks of its children."""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader, _utils

from tests.agent.tuning.switching_plans import Indices, switch, tuned
from tests.fakes.jobs import run_python, run_text
from underfed.trainer.tuning.first_workers import COUNTS_CHILDREN, why_no_first_workers
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.switching import switched_of

WORKERS = LoaderSetting(2, 2)


@pytest.fixture(autouse=True)
def no_handler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process that had no worker yet."""
    handling: Any = _utils.signal_handling
    before = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with monkeypatch.context() as patch:
        patch.setattr(handling, "_SIGCHLD_handler_set", False)
        yield
    signal.signal(signal.SIGCHLD, before)


def workers_of(iterator: Any) -> list[Any]:
    switched = switched_of(iterator)
    assert switched is not None
    workers: list[Any] = switched.state.active.of(iterator)._workers
    return workers


def test_a_program_that_waits_for_its_children_does_not_wait_for_workers_of_ours() -> None:
    before = multiprocessing.active_children()
    iterator = iter(tuned(DataLoader(Indices(20), batch_size=2)))
    next(iterator)
    switch(iterator, WORKERS)
    next(iterator)
    assert all(worker.is_alive() for worker in workers_of(iterator))
    assert multiprocessing.active_children() == before


def test_it_sees_the_workers_that_it_asked_for() -> None:
    before = len(multiprocessing.active_children())
    iterator = iter(tuned(DataLoader(Indices(20), batch_size=2, num_workers=1)))
    next(iterator)
    assert len(multiprocessing.active_children()) == before + 1
    switch(iterator, WORKERS)
    next(iterator)
    assert len(multiprocessing.active_children()) == before + 3


def test_what_is_done_at_the_end_of_a_child_stays_as_the_program_has_it() -> None:
    iterator = iter(tuned(DataLoader(Indices(20), batch_size=2)))
    next(iterator)
    switch(iterator, WORKERS)
    next(iterator)
    assert signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL
    own = iter(DataLoader(Indices(20), batch_size=2, num_workers=1))
    next(own)
    assert callable(signal.getsignal(signal.SIGCHLD))


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
@pytest.mark.parametrize("has_torchs", [False, True])
def test_a_program_that_handles_the_end_of_children_is_given_none(handler: Any, has_torchs: bool) -> None:
    loader = DataLoader(Indices(20), batch_size=2)
    assert why_no_first_workers(loader) is None
    if has_torchs:
        list(DataLoader(Indices(4), num_workers=1))
        assert why_no_first_workers(loader) is None
        _utils.signal_handling._SIGCHLD_handler_set = False
    signal.signal(signal.SIGCHLD, handler)
    if has_torchs and callable(handler):
        list(DataLoader(Indices(4), num_workers=1))
    assert why_no_first_workers(loader) == COUNTS_CHILDREN


def test_they_end_with_an_iterator_that_only_garbage_refers_to() -> None:
    iterator: Any = iter(tuned(DataLoader(Indices(40), batch_size=2)))
    next(iterator)
    switch(iterator, WORKERS)
    next(iterator)
    pids = [worker.pid for worker in workers_of(iterator)]
    iterator.itself = iterator
    del iterator
    gc.collect()
    assert not [pid for pid in pids if Path("/proc", str(pid)).exists()]


PROGRAM = """
from torch.utils.data import DataLoader
from tests.agent.tuning.switching_plans import Indices, switch, tuned
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.switching import switched_of

iterator = iter(tuned(DataLoader(Indices(40), batch_size=2)))
next(iterator)
switch(iterator, LoaderSetting(2, 2))
next(iterator)
print(*[worker.pid for worker in switched_of(iterator).state.active.iterator._workers])
"""


@pytest.mark.parametrize(
    "run", [run_text, pytest.param(lambda program: run_python("-c", program), marks=pytest.mark.soak)]
)
def test_they_end_with_python_as_others_do(run: Callable[[str], Any]) -> None:
    ended = run(PROGRAM)
    pids = ended.stdout.split()
    assert (len(pids), ended.returncode) == (2, 0), ended.stderr
    assert not [pid for pid in pids if Path("/proc", pid).exists()]
