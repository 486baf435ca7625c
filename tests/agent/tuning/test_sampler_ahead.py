"""How far a sampler is asked ahead where the script has no workers and ours load."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader

import underfed
from tests.agent.tuning.switching_plans import Indices, switch, tuned
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.own_errors import AskedSampler
from underfed.trainer.tuning.switching import switched_of

WORKERS = LoaderSetting(2, 2)


class Refilled:
    """A batch sampler that fills one container again for each batch."""

    def __init__(self, batch: Any, fill: Callable[[Any, int], None]) -> None:
        self.batch = batch
        self.fill = fill

    def __len__(self) -> int:
        return 20

    def __iter__(self) -> Iterator[Any]:
        for first in range(0, 40, 2):
            self.fill(self.batch, first)
            yield self.batch


def fill(batch: Any, first: int) -> None:
    batch[0], batch[1] = first, first + 1


def fill_within(batch: list[Any], first: int) -> None:
    batch[0][:] = (first, first + 1)


def total(samples: list[Any]) -> Any:
    return [int(each) for each in samples]


CONTAINERS = [([0, 0], fill), (np.zeros(2, int), fill), (torch.zeros(2, dtype=torch.int64), fill)]


@pytest.mark.parametrize(("batch", "how"), [*CONTAINERS, ([[0, 0]], fill_within)])
def test_what_a_sampler_gave_stays_as_it_was_then(batch: Any, how: Callable[[Any, int], None]) -> None:
    asked = AskedSampler(iter(Refilled(batch, how)), pass_batches=20)
    given = [next(asked), next(asked)]
    assert [np.asarray(each).ravel().tolist() for each in given] == [[0, 1], [2, 3]]
    assert [type(each) for each in given] == [type(batch)] * 2


@pytest.mark.parametrize(("batch", "how"), CONTAINERS)
def test_a_batch_sampler_that_fills_one_container_again_loses_no_sample(
    batch: Any, how: Callable[[Any, int], None]
) -> None:
    sampler: Any = Refilled(batch, how)
    iterator = iter(tuned(DataLoader(Indices(40), batch_sampler=sampler, collate_fn=total)))
    found = [next(iterator)]
    switch(iterator, WORKERS)
    found += iterator
    assert found == [[each, each + 1] for each in range(0, 40, 2)]


class Anew:
    """Its own iterator, which begins anew once it has ended: asked again in the same pass it would go on."""

    def __init__(self) -> None:
        self.given = 0

    def __len__(self) -> int:
        return 6

    def __iter__(self) -> Anew:
        return self

    def __next__(self) -> int:
        if self.given == len(self):
            self.given = 0
            raise StopIteration
        self.given += 1
        return self.given


def test_a_sampler_that_has_ended_is_not_asked_again_in_that_pass() -> None:
    loader = tuned(DataLoader(Indices(9), sampler=Anew(), batch_size=None))
    for _ in range(2):
        iterator = iter(loader)
        found = [next(iterator)]
        switch(iterator, WORKERS)
        assert [*found, *iterator] == [1, 2, 3, 4, 5, 6]


def test_a_generator_of_the_loaders_own_is_where_the_script_has_it_when_a_pass_is_left() -> None:
    """Torch's sampler takes a number of it at its end."""

    def indices_seen(switches: bool) -> list[Any]:
        loader = DataLoader(Indices(8), shuffle=True, generator=torch.Generator().manual_seed(3), batch_size=2)
        if switches:
            tuned(loader)
        found = []
        for _ in range(3):
            iterator = iter(loader)
            found.append(next(iterator).tolist())
            if switches and not loader.num_workers:
                switch(iterator, WORKERS)
            found.append(next(iterator).tolist())
        return found

    assert indices_seen(switches=True) == indices_seen(switches=False)


class Endless:
    """One iterator for all passes, as timm's loader has it: the next pass begins where the sampler goes on."""

    def __init__(self, sampler: BatchSampler) -> None:
        self.sampler = sampler

    def __iter__(self) -> Iterator[list[int]]:
        while True:
            yield from self.sampler


class EndlessLoader(DataLoader[int]):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        object.__setattr__(self, "batch_sampler", Endless(self.batch_sampler))  # type: ignore[arg-type]
        self.endless: Any = None

    def __len__(self) -> int:
        sampler: Any = self.batch_sampler
        return len(sampler.sampler)

    def __iter__(self) -> Any:
        if self.endless is None:
            self.endless = super().__iter__()
        for _ in range(len(self)):
            yield next(self.endless)


def passes(loader: Any, switches: dict[tuple[int, int], LoaderSetting]) -> list[Any]:
    """Batches of three passes, and a random number of the program's after each batch."""
    found: list[Any] = []
    for number in range(3):
        for step, batch in enumerate(loader):
            found += [batch.tolist(), float(torch.rand(()))]
            if (setting := switches.get((number, step))) is not None:
                switch(loader.endless, setting)
    return found


LAST = 4
"""Of the batches of a pass."""


@pytest.mark.parametrize(
    "switches",
    [
        {(0, 0): WORKERS},
        {(0, LAST): WORKERS},
        {(0, 0): WORKERS, (0, LAST): LoaderSetting(1, 2)},
        {(0, 0): WORKERS, (0, LAST - 1): LoaderSetting(1, 2), (1, 1): LoaderSetting(0), (1, 3): WORKERS},
    ],
)
def test_an_endless_sampler_begins_a_pass_when_the_program_does(switches: dict[tuple[int, int], LoaderSetting]) -> None:
    def make() -> EndlessLoader:
        return EndlessLoader(Indices(14), batch_size=3, shuffle=True)

    underfed.finish()
    torch.manual_seed(1)
    plain = passes(make(), {})
    torch.manual_seed(1)
    loader: Any = tuned(make())
    assert str(passes(loader, switches)) == str(plain)  # lists would be compared part by part, which takes minutes
    switched = switched_of(loader.endless)
    assert switched is not None and switched.setting == list(switches.values())[-1]
