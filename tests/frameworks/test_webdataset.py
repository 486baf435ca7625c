"""webdataset's ``WebLoader`` is no DataLoader but contains one: when it is watched, only the waits are measured."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.frameworks.conftest import Ran
from tests.frameworks.pages import STEPS, run_page
from tests.frameworks.program import SAMPLES, SLOW, SLOW_S, Samples, Watch, draw, main
from underfed.trainer.hooks.install import LOADING_FACTS
from underfed.trainer.hooks.iterable import NO_DATALOADER

pytestmark = pytest.mark.long

# The program


def train(watch: Watch, num_workers: int) -> Any:
    import webdataset

    with TemporaryDirectory() as directory:
        shards = [write(Path(directory) / f"{number}.tar", number) for number in range(2)]
        data = webdataset.WebDataset(shards, shardshuffle=False, workersplitter=webdataset.split_by_worker)
        data = data.decode().map(load)
        loader = watch(webdataset.WebLoader(data, batch_size=None, num_workers=num_workers), "train")
        assert isinstance(loader, webdataset.WebLoader)
        return [draw(loader), draw(loader)]


def write(path: Path, shard: int) -> str:
    """Half of the samples."""
    import webdataset

    with webdataset.TarWriter(str(path)) as writer:
        for number in range(shard * SAMPLES // 2, (shard + 1) * SAMPLES // 2):
            writer.write({"__key__": f"{number:03}", "number.json": number})
    return str(path)


def load(sample: dict[str, Any]) -> Tensor:
    return torch.as_tensor(Samples()[sample["number.json"]])


def without_workers(watch: Watch) -> Any:
    return train(watch, 0)


def with_workers(watch: Watch) -> Any:
    return train(watch, 2)


TRAININGS = {training.__name__: training for training in (without_workers, with_workers)}
EVERY_STEP = [(epoch, batch) for epoch in range(2) for batch in range(SAMPLES)]

if __name__ == "__main__":
    main(TRAININGS, lambda: run_page("webdataset"))

# The tests


@pytest.mark.parametrize("training", TRAININGS)
def test_the_batches_are_those_without_the_agent(ran: Ran, training: str) -> None:
    assert ran.same(training)


@pytest.mark.parametrize("training", TRAININGS)
def test_watched_wait_and_step_arrive_and_the_rest_says_why_not(ran: Ran, training: str) -> None:
    received = ran.received(training, "train")
    assert received.places == EVERY_STEP
    assert received.batches == {}
    assert {fact for fact, reason in received.not_measured.items() if reason == NO_DATALOADER} == set(LOADING_FACTS)
    assert received.facts["dataset_type"] == "WebLoader"


def test_the_wait_for_the_slow_batch_is_recorded_where_the_loop_waited(ran: Ran) -> None:
    for received in (ran.received("without_workers", "train"), ran.automatic("without_workers", "WebDataset")):
        for epoch in range(2):
            assert received.wait_s(epoch, SLOW) >= SLOW_S


@pytest.mark.parametrize("training", TRAININGS)
def test_recorded_automatically_the_inner_loader_has_everything(ran: Ran, training: str) -> None:
    received = ran.automatic(training, "WebDataset")
    assert len(received.steps) == len(EVERY_STEP)
    assert set(received.places) <= set(received.batches)
    assert not {"load_us", "data_wait_us", "samples"} & set(received.not_measured)
    workers = {batch.get("worker") for batch in received.batches.values()}
    assert workers == ({0, 1} if training == "with_workers" else {None})


def test_the_program_of_its_page_is_recorded(ran: Ran) -> None:
    assert ran.steps_of_page() == STEPS["webdataset"]
