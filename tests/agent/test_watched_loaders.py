"""A watched loader is what it was: same batches, order, random state, exceptions, type and attributes."""

from __future__ import annotations

import copy
import pickle
import random
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter

import underfed
from tests.fakes.datasets import Failing, Numbers
from tests.fakes.traces import patched_attributes
from underfed.trainer import control

Make = Callable[[], DataLoader[Any]]


def loader(**settings: Any) -> DataLoader[Any]:
    generator = torch.Generator()
    generator.manual_seed(7)
    return DataLoader(Numbers(), **{"batch_size": 4, "shuffle": True, "generator": generator, **settings})


def epochs(loader: DataLoader[Any], number: int = 2) -> list[Any]:
    """Every batch of some epochs, and the random state afterwards."""
    random.seed(1)
    torch.manual_seed(1)
    batches = [[batch.tolist() for batch in loader] for _ in range(number)]
    return [batches, random.random(), float(torch.rand(()))]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_order_and_random_state_are_the_same(num_workers: int) -> None:
    """With a generator of the loader's own; other loaders: ``indistinguishable/test_batches.py``,
    ``test_every_loader.py``."""
    assert epochs(underfed.watch(loader(num_workers=num_workers))) == epochs(loader(num_workers=num_workers))


@pytest.mark.parametrize("settings", [{"num_workers": 0}, {"num_workers": 2, "in_order": False}])
def test_a_loop_may_be_left_early(settings: dict[str, Any]) -> None:
    watched = underfed.watch(loader(**settings))
    for _ in range(3):
        assert len([batch for batch, _ in zip(watched, range(2), strict=False)]) == 2
    assert len(list(watched)) == 6


def test_the_same_object_comes_back() -> None:
    original = loader()
    before = dict(vars(original))
    assert underfed.watch(original) is original
    assert type(original) is DataLoader
    assert vars(original) == before
    assert len(original) == 6


@pytest.mark.parametrize("num_workers", [0, 2])
def test_an_iterator_stays_torchs_own(num_workers: int) -> None:
    kind = _MultiProcessingDataLoaderIter if num_workers else _SingleProcessDataLoaderIter
    iterator = iter(underfed.watch(loader(num_workers=num_workers)))
    assert type(iterator) is kind
    assert len(iterator) == 6
    assert iter(iterator) is iterator
    with pytest.raises(NotImplementedError):
        pickle.dumps(iterator)


def test_loaders_can_be_pickled_and_copied_as_before() -> None:
    original = DataLoader(Numbers(), batch_size=4)
    bare = pickle.dumps(original)
    underfed.watch(original)
    assert pickle.dumps(original) == bare
    list(original)
    assert pickle.dumps(original) == bare
    assert copy.copy(original).dataset is original.dataset
    assert len(list(copy.deepcopy(original))) == 6


def text(error: BaseException) -> str:
    """Of an exception, without the lines of worker tracebacks that name pids or files."""
    return f"{type(error).__name__}: {str(error).splitlines()[-1]}"


def end_workers(iterator: Any) -> None:
    """torch waits five seconds for each worker of an iterator that an exception keeps alive."""
    for worker in getattr(iterator, "_workers", ()):
        worker.terminate()


@pytest.mark.parametrize("num_workers", [0, 2])
def test_exceptions_of_the_data_set_are_the_same(num_workers: int) -> None:
    def run(loader: DataLoader[Any]) -> tuple[int, str]:
        seen, iterator = 0, iter(loader)
        with pytest.raises(ValueError, match="sample 9 is broken") as caught:
            for _ in iterator:
                seen += 1
        end_workers(iterator)
        return seen, text(caught.value)

    def make() -> DataLoader[Any]:
        return DataLoader(Failing(), batch_size=4, num_workers=num_workers)

    assert run(underfed.watch(make())) == run(make())


def test_an_exception_shows_no_line_of_ours() -> None:
    with pytest.raises(ValueError, match="broken") as caught:
        list(underfed.watch(DataLoader(Failing(), batch_size=4)))
    ours = [str(entry.path) for entry in caught.traceback if "/underfed/" in str(entry.path)]
    assert ours == []


def test_a_loop_that_goes_on_after_an_exception_still_gets_its_batches() -> None:
    def run(loader: DataLoader[Any]) -> list[Any]:
        iterator: Iterator[Any] = iter(loader)
        seen: list[Any] = []
        while True:
            try:
                seen.append(next(iterator).tolist())
            except ValueError as error:
                seen.append(text(error))
            except StopIteration:
                end_workers(iterator)
                return seen

    def make() -> DataLoader[Any]:
        return DataLoader(Failing(), batch_size=4, num_workers=2)

    assert run(underfed.watch(make())) == run(make())


def test_a_timeout_raises_as_before() -> None:
    watched = underfed.watch(DataLoader(Numbers(8, sleep_s=1), num_workers=1, timeout=0.2))
    with pytest.raises(RuntimeError, match=r"timed out after 0\.2 seconds"):
        next(iter(watched))


def test_an_unpicklable_data_set_fails_under_spawn_as_before() -> None:
    def run(loader: DataLoader[Any]) -> str:
        # torch adds a warning of its own to the error.
        with warnings.catch_warnings(), pytest.raises((AttributeError, pickle.PicklingError)) as caught:
            warnings.simplefilter("ignore")
            list(loader)
        return re.sub("0x[0-9a-f]+", "", f"{caught.type.__name__}: {caught.value}")

    def make() -> DataLoader[Any]:
        return DataLoader([lambda: 1], num_workers=1, multiprocessing_context="spawn")  # type: ignore[arg-type]

    assert run(underfed.watch(make())) == run(make())


def test_only_watched_loaders_are_recorded() -> None:
    underfed.watch(loader())
    assert "_underfed" not in vars(iter(loader()))
    assert "_underfed" not in vars(iter(loader(num_workers=1)))


def test_two_loaders_at_once_do_not_disturb_each_other() -> None:
    train, val = underfed.watch(loader(num_workers=2)), underfed.watch(loader(num_workers=1))
    seen = [(len(batch), len(list(val))) for batch in train]
    assert seen == [(4, 6)] * 6


def test_finish_removes_every_hook_and_live_iterators_go_on() -> None:
    iterator = iter(underfed.watch(loader(num_workers=2)))
    next(iterator), next(iterator)  # of both workers, which have started then
    assert patched_attributes() != []
    underfed.finish()
    assert patched_attributes() == []
    assert "_underfed" not in vars(iterator)
    assert len(list(iterator)) == 4
    underfed.finish()


def test_someone_elses_patch_on_top_of_ours_stays() -> None:
    underfed.watch(loader())
    below = _SingleProcessDataLoaderIter.__next__
    calls = []

    def theirs(self: Any) -> Any:
        calls.append(1)
        return below(self)

    _SingleProcessDataLoaderIter.__next__ = theirs  # type: ignore[method-assign]
    try:
        underfed.finish()
        assert len(list(loader())) == 6
        assert len(calls) == 7
    finally:
        del _SingleProcessDataLoaderIter.__next__


def test_disabled_means_that_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_DISABLED", "1")
    original = loader()
    assert underfed.watch(original) is original
    assert underfed.watch("anything") == "anything"
    assert underfed.init(project="x") == underfed.Run(None, None)
    assert patched_attributes() == []
    assert control._state.recording is None
    underfed.finish()


def test_a_worker_that_draws_from_a_watched_loader_records_nothing_there() -> None:
    inner = underfed.watch(loader())
    outer: DataLoader[int] = DataLoader(Nested(inner), num_workers=1, batch_size=None, multiprocessing_context="fork")
    assert list(outer) == [6, 6]


class Nested(Dataset[int]):
    def __init__(self, inner: DataLoader[Any]) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> int:
        if index >= 2:
            raise IndexError
        assert patched_attributes() == []
        underfed.watch(self.inner)
        iterator = iter(self.inner)
        assert "_underfed" not in vars(iterator)
        return len(list(iterator))
