"""Small programs that read loaders in many ways, put together at random: what they see, in order, and every random
state afterwards."""

from __future__ import annotations

import itertools
import random
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from tests.agent.tuning.switching_plans import Indices, Plan
from tests.fakes.datasets import Stream
from underfed.trainer import control


class Refilling:
    """A batch sampler that fills one list again for each batch, of what the training's own generator gives once."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return (self.length + 1) // 2

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in RandomSampler(range(self.length)):
            batch.append(index)
            if len(batch) == 2:
                yield batch
                batch.clear()
        if batch:
            yield batch


class Own:
    """A sampler of a program's own, without a length, that draws once for each pass, of three modules."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __iter__(self) -> Iterator[int]:
        first = random.randrange(self.length) + int(np.random.randint(self.length)) + int(torch.randint(9, ()))
        for index in range(self.length):
            yield (first + index) % self.length


class Twice(DataLoader[Any]):
    """A subclass that hands each batch on with its place, as a generator."""

    def __iter__(self) -> Any:
        yield from enumerate(super().__iter__())


class Bundle(list[int]):
    """What a ``collate_fn`` of a program's own gives."""


@dataclass
class Counting:
    """A ``collate_fn`` with options."""

    more: int

    def __call__(self, samples: list[int]) -> list[int]:
        return Bundle(each + self.more for each in samples)


def seeded(_worker: int) -> None:
    np.random.seed(1)


class Held(Dataset[int]):
    """What a program validates with."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> int:
        return -index


def workers_of(choose: random.Random) -> dict[str, Any]:
    """As scripts have them."""
    count = choose.choice([0, 0, 0, 1, 2])
    if not count:
        return {}
    return {"num_workers": count, "prefetch_factor": choose.choice([1, 2]), "persistent_workers": choose.random() < 0.5}


def a_loader(choose: random.Random) -> DataLoader[Any]:
    """That is tuned. One of an iterable data set yields its records in another order with other workers."""
    given = workers_of(choose)
    if choose.random() < 0.1:
        return DataLoader(Stream(choose.randrange(8, 20)), batch_size=choose.choice([1, 3]), **given)
    length = choose.randrange(4, 26)
    data = Indices(length, bad=choose.choice([None, None, None, choose.randrange(length)]))
    own: Any = Own(length)
    refilling: Any = Refilling(length)
    ways: list[dict[str, Any]] = [
        {"shuffle": True, "batch_size": choose.choice([1, 2, 3])},
        {"shuffle": True, "batch_size": 2, "drop_last": True},
        {"batch_size": None},
        {"batch_size": None, "sampler": own},
        {"batch_size": 2, "sampler": own},
        {"batch_sampler": refilling},
        {"batch_size": 3, "sampler": SubsetRandomSampler(range(length))},
        {"batch_size": 2, "sampler": WeightedRandomSampler([1.0] * length, length)},
        {"batch_size": 2, "sampler": RandomSampler(data, num_samples=length + 3)},
        {"batch_size": 2, "sampler": SequentialSampler(data)},
        {"batch_size": 2, "sampler": RandomSampler(data, replacement=True)},
    ]
    way = choose.choice(ways)
    # Torch sends workers the list itself, later on: refilled, it is another one by then.
    given = way if "batch_sampler" in way else given | way
    if given.get("batch_size", True):
        given |= choose.choice([{}, {"collate_fn": Counting(3)}])
    kind: Any = choose.choice([DataLoader, DataLoader, Twice])
    loader: DataLoader[Any] = kind(data, **given, worker_init_fn=choose.choice([None, seeded]))
    return loader


def another_loader(choose: random.Random) -> DataLoader[Any]:
    """That is not tuned: what a program validates with, or trains from as well."""
    return choose.choice([DataLoader(Held(), batch_size=2), DataLoader(Held(), shuffle=True), a_loader(choose)])


Seen = list[Any]


@dataclass
class Program:
    """How a program of this seed reads its loaders, with a plan for those that may be switched."""

    seed: int
    plan: Plan
    found: Seen = field(default_factory=list)
    has_workers: bool = False
    """Of the script."""

    def run(self, watch: Callable[[DataLoader[Any]], object]) -> Seen:
        """``watch``: of the first loader, before it is read."""
        choose = random.Random(self.seed)
        loaders = [a_loader(choose), *(another_loader(choose) for _ in range(choose.choice([0, 1])))]
        self.has_workers = any(loader.num_workers for loader in loaders)
        watch(loaders[0])
        for _ in range(3):
            how = choose.choice([self._through, self._through, self._some, self._first, self._nested, self._anew])
            how(loaders, choose)
            self.found.append(random_states())
        return self.found

    def _take(self, iterator: Any) -> bool:
        """One batch, or what was raised; ``False``: there are no more."""
        try:
            batch = next(iterator)
        except StopIteration:
            return False
        except ValueError as error:
            # Ends a generator; an iterator of torch's goes on. What workers raise says where it was, too.
            self.found.append((type(error), str(error).split()[-1] if self.has_workers else error.args))
            traceback.clear_frames(error.__traceback__)
            return True
        self.found.append(plain(batch))
        newest = newest_iterator() if self.plan.random is not None else None
        if newest is not None and newest._dataset_kind == 0:
            self.plan.carry_out(newest)
        return True

    def _draw(self, choose: random.Random) -> None:
        """As dropout, or an augmentation in the training's own loop."""
        kind = choose.choice(["torch", "numpy", "python", None])
        if kind == "torch":
            self.found.append(float(torch.rand(())))
        elif kind == "numpy":
            self.found.append(float(np.random.rand()))
        elif kind == "python":
            self.found.append(random.random())

    def _through(self, loaders: list[Any], choose: random.Random) -> None:
        iterators = [iter(loader) for loader in loaders]
        self._draw(choose)
        while all(self._take(iterator) for iterator in iterators):
            self._draw(choose)

    def _some(self, loaders: list[Any], choose: random.Random) -> None:
        iterator = iter(loaders[0])
        for _ in itertools.islice(itertools.count(), choose.randrange(1, 5)):
            if not self._take(iterator):
                break
            self._draw(choose)

    def _first(self, loaders: list[Any], choose: random.Random) -> None:
        for _ in range(2):
            self._take(iter(loaders[0]))
            self._draw(choose)

    def _nested(self, loaders: list[Any], choose: random.Random) -> None:
        """The last loader is read through within the loop of the first one, at every third batch."""
        iterator = iter(loaders[0])
        for place in itertools.count():
            if not self._take(iterator):
                break
            within = iter(loaders[-1]) if len(loaders) > 1 and place % 3 == 0 else iter(())
            while self._take(within):
                self._draw(choose)

    def _anew(self, loaders: list[Any], choose: random.Random) -> None:
        """An iterator that nothing is taken from, and one that is."""
        unused = iter(loaders[0])
        self._draw(choose)
        del unused
        self._through(loaders, choose)


def newest_iterator() -> Any:
    """Of the tuned loader; a subclass may hand on what it gives."""
    tuner = control._state.tuner
    return tuner._current() if tuner is not None and tuner._current is not None else None


def plain(batch: Any) -> Any:
    if isinstance(batch, torch.Tensor):
        return batch.tolist()
    if isinstance(batch, tuple):
        return tuple(plain(each) for each in batch)
    return (type(batch).__name__, list(batch)) if isinstance(batch, list) else batch


def random_states() -> str:
    return str((hash(random.getstate()), np.random.get_state()[1].sum(), torch.get_rng_state().sum().item()))  # type: ignore[index]


def seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
