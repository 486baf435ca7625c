"""A loader that changes its workers while it is iterated gives the same batches in the same order, each once."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, WeightedRandomSampler, dataloader

import underfed
from tests.agent.test_signal_handlers import Handler, Interrupting
from tests.agent.tuning.switching_plans import (
    Indices,
    Pairs,
    Plan,
    alike,
    facts_now,
    seen,
    switch,
    tuned,
    use_from_now_on,
)
from tests.fakes.traces import wait_for_collectors
from underfed.exchange import tuning
from underfed.trainer import control
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.switching import HELD, switched_of

PLANS = 8
WORKERS = LoaderSetting(2, 2)


@pytest.fixture(autouse=True)
def no_tuner_left() -> Iterator[None]:
    yield
    underfed.finish()
    control._state.tuner = None


def any_loader(choose: random.Random) -> DataLoader[Any]:
    length = choose.randrange(3, 30)
    data = Indices(length, bad=choose.choice([None, None, choose.randrange(length)]))
    workers = choose.choice([0, 0, 1, 2])
    given: dict[str, Any] = {"num_workers": workers}
    if workers:
        given |= {"persistent_workers": choose.random() < 0.5, "prefetch_factor": choose.choice([1, 2])}
    samplers: list[dict[str, Any]] = [
        {"shuffle": True, "batch_size": choose.choice([1, 3])},
        {"batch_size": 2, "drop_last": True},
        {"batch_size": None},
        {"sampler": WeightedRandomSampler([1.0] * length, length), "batch_size": 2},
        {"sampler": RandomSampler(data, replacement=True, generator=torch.Generator().manual_seed(1))},
        {"sampler": DistributedSampler(data, num_replicas=2, rank=1, seed=2)},
        {"batch_sampler": Pairs(length)},
        {"shuffle": True, "generator": torch.Generator().manual_seed(3), "batch_size": 2},
    ]
    return DataLoader(data, **choose.choice(samplers), **given)


def check(seed: int) -> int:
    plan = Plan(random.Random(seed))
    leave_at = random.Random(seed).choice([None, None, None, 4])
    if any_loader(random.Random(seed)).generator is not None:
        leave_at = None  # what is loaded ahead of a pass that is left may take numbers of it, as the test below shows
    plain, switching = alike(lambda: any_loader(random.Random(seed)), plan, passes=2, leave_at=leave_at)
    assert switching == plain, f"plan {seed}"
    return plan.switches


def drawn_between(loaders: list[DataLoader[Any]], passes: int) -> list[Any]:
    """All batches of loaders that are read in step, where a program draws random numbers after it began a pass and
    before it takes the first batch; and the state of the generator after each."""
    found: list[Any] = []
    for _ in range(passes):
        iterators = [iter(loader) for loader in loaders]
        found.append((float(torch.rand(())), loaders[0].num_workers, type(iterators[0]).__name__))
        found += [[batch.tolist() for batch in batches] for batches in zip(*iterators, strict=True)]
        found.append(torch.get_rng_state().tolist())
    return found


@pytest.mark.parametrize("has_generator", [False, True])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 12), marks=pytest.mark.soak)])
def test_a_pass_that_begins_with_our_workers_asks_the_sampler_at_the_first_request(
    seeds: range, count: int, has_generator: bool
) -> None:
    def make() -> list[DataLoader[Any]]:
        own = [torch.Generator().manual_seed(3) if has_generator else None for _ in range(count)]
        return [DataLoader(Indices(14), batch_size=3, shuffle=True, generator=each) for each in own]

    for seed in seeds:
        underfed.finish()
        torch.manual_seed(seed)
        plain = drawn_between(make(), passes=3)
        torch.manual_seed(seed)
        loaders = make()
        tuned(loaders[0])
        iterator = iter(loaders[0])
        tuner = control._state.tuner
        assert tuner is not None and switched_of(iterator) is not None
        use_from_now_on(tuner, WORKERS)
        del iterator
        if has_generator:
            loaders[0].generator.manual_seed(3)
        torch.manual_seed(seed)
        assert drawn_between(loaders, passes=3) == plain, f"seed {seed}"


def test_a_generator_of_the_programs_own_is_further_where_torch_alone_loads_ahead_of_a_pass_that_is_left() -> None:
    def batches_with(workers: int) -> list[Any]:
        generator = torch.Generator().manual_seed(3)
        loader = DataLoader(Indices(8), shuffle=True, generator=generator, batch_size=2, num_workers=workers)
        return seen(loader, Plan(None), passes=2, leave_at=1)

    alone, ahead = batches_with(0), batches_with(2)
    assert alone[0] == ahead[0]
    assert alone[2] != ahead[2]


@pytest.mark.long
def test_any_plan_of_switches_gives_the_same_batches_and_random_numbers() -> None:
    assert sum(map(check, range(PLANS))) > 2 * PLANS


@pytest.mark.soak(passes=1, of=1)
def test_a_thousand_plans_of_switches_give_the_same_batches() -> None:
    assert sum(map(check, range(PLANS, PLANS + 1000))) > 1000


@pytest.mark.soak(passes=1, of=1)
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_of_any_start_method_take_over(method: str) -> None:
    def make() -> DataLoader[Any]:
        return DataLoader(Indices(40), batch_size=2, shuffle=True, num_workers=1, multiprocessing_context=method)

    plan = Plan(random.Random(1))
    plain, switching = alike(make, plan)
    assert switching == plain
    assert plan.switches


@pytest.mark.skipif("in_order" not in DataLoader.__init__.__code__.co_varnames, reason="this torch has no in_order")
def test_batches_that_come_in_any_order_come_each_once() -> None:
    def make() -> DataLoader[Any]:
        return DataLoader(Indices(60), batch_size=2, num_workers=2, in_order=False)

    plain, switching = alike(make, Plan(random.Random(2)))
    assert sorted(switching[:-1]) == sorted(plain[:-1])


def test_the_iterator_stays_the_same_object_of_the_same_type_and_length() -> None:
    loader = tuned(DataLoader(Indices(12), batch_size=2))
    iterator = iter(loader)
    first = next(iterator)
    switch(iterator, WORKERS)
    assert first.tolist() == [0, 1]
    assert [batch.tolist() for batch in iterator] == [[each, each + 1] for each in range(2, 12, 2)]
    assert type(iterator) is dataloader._SingleProcessDataLoaderIter
    assert len(iterator) == 6


def none(_samples: list[int]) -> None:
    """A program that counts batches, and uses nothing of them."""


def test_a_batch_may_be_none() -> None:
    iterator = iter(tuned(DataLoader(Indices(12), batch_size=2, collate_fn=none)))
    next(iterator)
    switch(iterator, WORKERS)
    assert list(iterator) == [None] * 5


def test_workers_end_with_the_iterator_that_they_load_for() -> None:
    iterator = iter(tuned(DataLoader(Indices(40), num_workers=1)))
    next(iterator)
    switch(iterator, WORKERS)
    for _ in range(6):
        next(iterator)
    switched = switched_of(iterator)
    assert switched is not None
    workers = [*switched.state.active.iterator._workers, *iterator._workers]  # type: ignore[attr-defined]
    del iterator, switched
    gc.collect()
    assert len(workers) == 3
    assert not any(worker.is_alive() for worker in workers)


def test_a_worker_killed_in_a_switch_ends_the_pass_as_torch_ends_it() -> None:
    iterator = iter(tuned(DataLoader(Indices(40), batch_size=2, num_workers=1)))
    next(iterator)
    switch(iterator, WORKERS)
    switched = switched_of(iterator)
    assert switched is not None
    assert switched.state.successor is not None
    victim = switched.state.successor.iterator._workers[0]
    # Else torch's handler may raise within Python's start of a thread, and what comes out then is a KeyError.
    next(iterator)
    assert switched.is_switching
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(?s?\)?"):
        os.kill(victim.pid, signal.SIGKILL)
        for _ in range(100):
            next(iterator)
            victim.join(0.1)
    # What torch's handler raises may hold the frame that it came in, and with it the iterator, which has to be gone.
    del iterator, switched, victim
    gc.collect()


def test_what_cannot_be_started_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    iterator = iter(tuned(DataLoader(Indices(20), batch_size=2)))
    next(iterator)

    def refuse(*_: Any) -> None:
        raise OSError("too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("torch.multiprocessing.Process.start", refuse)
        with pytest.raises(OSError, match="too many open files"):
            switch(iterator, WORKERS)
    switch(iterator, LoaderSetting(1, 2))
    assert [batch.tolist()[0] for batch in iterator] == list(range(2, 20, 2))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_finished_recording_leaves_an_iterator_that_goes_on(workers: int, run_id: str) -> None:
    iterator = iter(tuned(DataLoader(Indices(30), batch_size=2, num_workers=workers)))
    next(iterator)
    switch(iterator, WORKERS)
    next(iterator)
    recording = control._state.recording
    assert recording is not None
    underfed.finish()
    wait_for_collectors(run_id)
    assert not recording.directory.exists()
    assert [batch.tolist()[0] for batch in iterator] == list(range(4, 30, 2))
    del iterator
    underfed.watch(DataLoader(Indices(2)))  # takes out of torch what that iterator needed


def test_another_pass_of_an_iterator_that_was_left_within_a_switch_begins_anew() -> None:
    loader = tuned(DataLoader(Indices(30), batch_size=2, num_workers=1, persistent_workers=True))
    iterator = iter(loader)
    next(iterator)
    switch(iterator, WORKERS)
    next(iterator)
    assert [batch.tolist()[0] for batch in loader] == list(range(0, 30, 2))


def test_batches_are_taken_by_another_thread() -> None:
    loader = tuned(DataLoader(Indices(30), batch_size=2, num_workers=1))
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(seen(loader, Plan(random.Random(5)))))
    thread.start()
    thread.join()
    assert found[:-1] == [[each, each + 1] for each in range(0, 30, 2)]


class InterruptingTuning(Interrupting):
    """Before line number ``at`` of ours that belongs to a switch, a request within it, or what is recorded of it. Not
    between torch's ``return`` and our first line, where torch alone loses the batch as well."""

    def __call__(self, frame: Any, event: str, argument: object) -> Any:
        place = frame.f_code.co_filename, frame.f_code.co_name
        if "tuning" not in place[0] and not place[0].endswith("requests.py"):
            return None
        if place[1] in ("left_in_tuning", "hold") and not vars(frame.f_locals["iterator"]).get(HELD):
            return self
        return super().__call__(frame, event, argument)


def interrupted_pass(at: int) -> tuple[list[int], tuple[str, int] | None]:
    """First samples of all batches, the program going on after what its handler raised; and where it did."""
    iterator = iter(tuned(DataLoader(Indices(24), batch_size=2, num_workers=1)))
    next(iterator)
    switched = switched_of(iterator)
    assert switched is not None
    tracer, found = InterruptingTuning(at), [0]
    signal.signal(signal.SIGUSR1, Handler(TimeoutError).plain)
    before = sys.gettrace()
    wanted = [LoaderSetting(1, 1), LoaderSetting(0), switched.setting]
    while True:
        try:
            sys.settrace(tracer)
            if wanted and not switched.is_switching and len(found) % 3 == 0:
                switch(iterator, wanted[0])
                del wanted[0]
            batch = next(iterator)
            sys.settrace(before)
            found.append(batch.tolist()[0])
        except TimeoutError:
            sys.settrace(before)
        except StopIteration:
            sys.settrace(before)
            return found, tracer.place


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of one constructed in part
@pytest.mark.parametrize(
    ("first", "step"),
    [(0, 251), *(pytest.param(first, 97, marks=pytest.mark.soak(passes=1, of=1)) for first in (0, 31))],
)
def test_what_a_handler_raises_in_a_switch_loses_no_batch(
    first: int, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERFED_STRICT", "0")
    before = signal.getsignal(signal.SIGUSR1)
    reached = 0
    for at in range(first, 4000, step):
        found, place = interrupted_pass(at)
        assert found == list(range(0, 24, 2)), str(place)
        if place is None:
            break
        reached += 1
    signal.signal(signal.SIGUSR1, before)
    assert reached > 5


def interrupting_torch(frame: Any, event: str, _argument: object) -> Any:
    """Before the line of torch's ``next()`` at which it has loaded and counted a first batch."""
    if frame.f_code is not dataloader._BaseDataLoaderIter.__next__.__code__:
        return None
    if event == "line" and "data" in frame.f_locals and frame.f_locals["self"]._num_yielded == 1:
        sys.settrace(None)
        signal.raise_signal(signal.SIGUSR1)
    return interrupting_torch


def test_torch_alone_loses_a_batch_that_it_has_loaded_when_a_handler_raises() -> None:
    """So the one instant that is left, between its return and our first statement, is none that we add."""
    before, previous = signal.getsignal(signal.SIGUSR1), sys.gettrace()
    signal.signal(signal.SIGUSR1, Handler(TimeoutError).plain)
    iterator = iter(DataLoader(Indices(10), batch_size=2))
    found: list[int] = []
    sys.settrace(interrupting_torch)
    try:
        while True:
            try:
                found.append(int(next(iterator)[0]))
            except TimeoutError:
                continue
            except StopIteration:
                break
    finally:
        sys.settrace(previous)
        signal.signal(signal.SIGUSR1, before)
    assert found == [2, 4, 6, 8]


@pytest.mark.parametrize("persistent", [False, True])
def test_a_sampler_draws_as_a_pass_begins_where_the_script_has_workers(*, persistent: bool) -> None:
    """Also in a pass that is loaded without."""

    def read(watch: Any) -> list[Any]:
        torch.manual_seed(0)
        loader = watch(DataLoader(Indices(6), shuffle=True, num_workers=1, persistent_workers=persistent))
        found: list[Any] = [list(map(int, loader))]
        if control._state.tuner is not None:
            use_from_now_on(control._state.tuner, LoaderSetting(0))
        iter(loader)
        for _ in range(2):
            iterator = iter(loader)
            found.append(float(torch.rand(())))
            found.append(list(map(int, iterator)))
        return found

    plain = read(lambda loader: loader)
    assert read(tuned) == plain


def test_what_a_sampler_raises_as_a_pass_begins_reaches_the_program() -> None:
    class Broken(RandomSampler):
        def __iter__(self) -> Iterator[int]:
            if torch.initial_seed() == 1:
                raise LookupError("no order")
            return super().__iter__()

    torch.manual_seed(0)
    loader = tuned(DataLoader(Indices(4), sampler=Broken(Indices(4)), num_workers=1))
    assert len(list(loader)) == 4
    assert control._state.tuner is not None
    use_from_now_on(control._state.tuner, LoaderSetting(0))
    torch.manual_seed(1)
    with pytest.raises(LookupError, match="no order"):
        next(iter(loader))
    torch.manual_seed(0)
    assert len(list(loader)) == 4
    assert facts_now().status != tuning.FAILED
