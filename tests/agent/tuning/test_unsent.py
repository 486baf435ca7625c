"""Batches that no worker can send, or that cannot be read where they arrive, of a script without workers."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import underfed
from tests.agent.tuning.switching_plans import Indices, facts_now, switch, tuned, use_from_now_on
from tests.fakes.datasets import Numbers, Stream
from underfed.exchange import tuning
from underfed.trainer import control
from underfed.trainer.tuning import unsent
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.switching import switched_of
from underfed.trainer.tuning.tuner import TuneOptions, Tuner
from underfed.trainer.tuning.unsent import SENT_AS_DATA, why_unsent

WORKERS = LoaderSetting(2, 2)

pytestmark = pytest.mark.timeout(120)


class Unreadable:
    """Pickled as any other, and not to be made again."""

    def __init__(self, number: int, why: str = "") -> None:
        self.number = number

    def __reduce__(self) -> Any:
        return Unreadable, ()


def numbers() -> Iterator[int]:
    yield 1


UNSENT: dict[str, Callable[[], Any]] = {
    "lambda": lambda: lambda: 1,
    "generator": numbers,
    "lock": threading.Lock,
    "file": Path(os.devnull).open,
    "unreadable": lambda: Unreadable(1),
}


class Collate:
    """Puts something into each batch, or into some of them."""

    def __init__(self, kind: str, every: int = 1) -> None:
        self.kind, self.every = kind, every

    def __call__(self, samples: list[Any]) -> tuple[Any, Any]:
        return samples, UNSENT[self.kind]() if int(samples[0]) // 2 % self.every == self.every - 1 else None


class KindError(Exception):
    """Of a class that another process does not find."""


class Raising(Indices):
    def __getitem__(self, index: int) -> int:
        if index == 4:
            raise type("LocalError", (KindError,), {})(index)
        return index


@pytest.fixture(autouse=True)
def no_tuner_left() -> Iterator[None]:
    yield
    gc.collect()
    underfed.finish()
    control._state.tuner = None


def close(batch: Any) -> Any:
    if hasattr(batch[1], "close"):
        batch[1].close()
    return batch[0]


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("kind", ["lambda", "unreadable"])
def test_what_cannot_be_sent_is_loaded_in_the_training_process(kind: str, every: int, is_first: bool) -> None:
    loader = tuned(DataLoader(Indices(40), batch_size=2, collate_fn=Collate(kind, every)))
    tuner = control._state.tuner
    assert tuner is not None
    iterator = iter(loader)
    found = [close(next(iterator))]
    if is_first:
        switch(iterator, WORKERS)
    else:
        use_from_now_on(tuner, WORKERS)
        iterator, found = iter(loader), []
    found += [close(batch) for batch in iterator]
    assert found == [[each, each + 1] for each in range(0, 40, 2)]
    switched = switched_of(iterator)
    assert switched is not None and switched.setting == LoaderSetting(0)
    assert tuner.conductor is not None
    why = "a worker could not load and send" if kind == "unreadable" else "its batches cannot be sent by a worker: "
    assert str(tuner.conductor.reason).startswith(why)


def test_an_exception_that_cannot_be_sent_comes_out_as_the_script_would_have_it() -> None:
    iterator = iter(tuned(DataLoader(Raising(12), batch_size=2)))
    next(iterator)
    switch(iterator, WORKERS)
    next(iterator)
    with pytest.raises(KindError) as raised:
        next(iterator)
    assert raised.value.args == (4,)
    assert [batch.tolist()[0] for batch in iterator] == [6, 8, 10]


def test_an_iterable_that_workers_load_says_so_instead_of_waiting_for_ever() -> None:
    loader = tuned(DataLoader(Stream(24), batch_size=2, collate_fn=Collate("lambda", 3)))
    list(loader)
    tuner = control._state.tuner
    assert tuner is not None
    use_from_now_on(tuner, LoaderSetting(1, 2))
    with pytest.raises(RuntimeError, match="pickle"):
        list(loader)


@pytest.mark.parametrize("kind", [kind for kind in UNSENT if kind != "unreadable"])
def test_a_batch_that_cannot_be_sent_is_found_wherever_it_is(kind: str) -> None:
    thing = UNSENT[kind]()
    assert "cannot be sent by a worker" in str(why_unsent({"x": torch.zeros(2), "y": [thing]}))
    close((None, thing))


def test_tensors_and_arrays_stay_where_they_are() -> None:
    batch = torch.zeros(4), {"array": torch.ones(3).numpy(), "text": "a"}, torch.nn.Parameter(torch.zeros(1))
    assert why_unsent(batch) is None
    assert not batch[0].is_shared()  # type: ignore[no-untyped-call]


def test_little_of_a_large_batch_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [0]
    monkeypatch.setattr(unsent._Counted, "write", counting(seen, unsent._Counted.write))
    assert why_unsent([str(each) for each in range(1_000_000)]) is None
    assert seen[0] < 2 * unsent.MOST_BYTES


def counting(seen: list[int], write: Callable[..., None]) -> Callable[..., None]:
    def counted(file: Any, part: bytes) -> None:
        seen[0] += len(part)
        write(file, part)

    return counted


def with_lock(samples: list[Any]) -> Any:
    return samples, threading.Lock()


@pytest.mark.usefixtures("quick")
def test_a_loader_whose_first_batch_cannot_be_sent_is_given_no_workers() -> None:
    loader = DataLoader(Numbers(200, sleep_s=0.002), collate_fn=with_lock)
    control._state.tuner = Tuner(TuneOptions(most_steps=60), lambda _: None)
    underfed.watch(loader, tune=True)
    assert len(list(loader)) == 200
    facts = facts_now()
    assert facts.status == tuning.LEFT_ALONE
    assert (
        facts.reason
        == "its batches cannot be sent by a worker: TypeError: cannot pickle '_thread.lock' object" + SENT_AS_DATA
    )
    assert facts.why_no_workers == facts.reason


@pytest.mark.usefixtures("quick")
def test_a_loader_that_the_program_has_dropped_is_looked_at_before_it_is_given_workers() -> None:
    control._state.tuner = Tuner(TuneOptions(most_steps=60), lambda _: None)
    iterator = iter(underfed.watch(DataLoader(Numbers(200, sleep_s=0.002), collate_fn=with_lock), tune=True))
    gc.collect()
    assert len(list(iterator)) == 200
    facts = facts_now()
    assert facts.status == tuning.LEFT_ALONE
    assert "cannot be sent" in str(facts.reason)


def test_of_a_tensor_with_a_gradient_history_the_reason_names_detach() -> None:
    leaf = torch.ones(2, requires_grad=True)
    assert "detach()" in str(why_unsent([leaf * 2]))
    assert why_unsent([leaf, (leaf * 2).detach()]) is None
