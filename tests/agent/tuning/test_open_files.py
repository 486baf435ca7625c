"""A program that keeps its batches, whose files a worker of ours opens, and a limit on open files."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator

import pytest
from torch.utils.data import DataLoader

from tests.agent.tuning.switching_plans import Indices, facts_now, switch, tuned
from underfed.exchange import tuning
from underfed.host import procfs
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.switching import switched_of

LEFT = 160


@pytest.fixture
def few_files() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = procfs.open_files(os.getpid())
    assert opened is not None
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + LEFT, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.usefixtures("few_files")
@pytest.mark.parametrize("workers", [0, 1])
def test_where_they_become_few_the_loader_goes_back_to_the_script_s_setting(workers: int) -> None:
    length = 400 if not workers else 100
    loader = tuned(DataLoader(Indices(length), num_workers=workers))
    iterator = iter(loader)
    kept = [next(iterator)]
    switch(iterator, LoaderSetting(3, 2))
    for batch in iterator:
        kept.append(batch)
    assert [int(batch) for batch in kept] == list(range(length))
    switched = switched_of(iterator)
    assert switched is not None
    assert switched.setting.num_workers == workers
    facts = facts_now()
    assert facts.status == tuning.REFUSED
    assert "files that this process may open are nearly used up" in str(facts.reason)
    kept.clear()


@pytest.mark.usefixtures("few_files")
def test_who_lets_go_of_batches_keeps_what_is_faster() -> None:
    loader = tuned(DataLoader(Indices(400)))
    iterator = iter(loader)
    found = [int(next(iterator))]
    switch(iterator, LoaderSetting(2, 2))
    found += [int(batch) for batch in iterator]
    assert found == list(range(400))
    switched = switched_of(iterator)
    assert switched is not None
    assert switched.setting.num_workers == 2
