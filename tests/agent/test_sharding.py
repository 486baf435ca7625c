"""Whether an iterable data set is sharded among workers: said only where it is sure, and never for a mere mention."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor
from torch.utils.data import ChainDataset, DataLoader, IterableDataset, get_worker_info

from tests.fakes.datasets import Stream, Unsharded
from underfed.trainer.settings import sharding
from underfed.trainer.settings.loader_facts import loader_facts
from underfed.trainer.settings.sharding import sharding_with, shards_itself

FILES = [f"{number}.bin" for number in range(8)]

# Data sets that divide


class Sliced(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        yield from FILES if info is None else FILES[info.id :: info.num_workers]


class Islice(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        info = torch.utils.data.get_worker_info()
        source = iter(FILES)
        if info:
            source = itertools.islice(source, info.id, None, info.num_workers)
        return source


class Remainder(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        number, count = (info.id, info.num_workers) if info is not None else (0, 1)
        for index, file in enumerate(FILES):
            if index % count != number:
                continue
            yield file


class Contiguous(IterableDataset[Any]):
    """As the documentation of torch's IterableDataset has it."""

    def __iter__(self) -> Iterator[Any]:
        worker_info = get_worker_info()
        if worker_info is None:
            first, last = 0, len(FILES)
        else:
            per_worker = -(-len(FILES) // worker_info.num_workers)
            first = worker_info.id * per_worker
            last = min(first + per_worker, len(FILES))
        return iter(range(first, last))


def place() -> tuple[int, int]:
    info = get_worker_info()
    if info is None:
        return 0, 1
    return info.id, info.num_workers


class ByPlace(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        worker, workers = place()
        return islice(iter(FILES), worker, None, workers)


class ArraySplit(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        if (info := get_worker_info()) is not None:
            return iter(numpy.array_split(FILES, info.num_workers)[info.id])
        return iter(FILES)


class OfDatasets(IterableDataset[Any]):
    """Splits a data set of Hugging Face's by worker itself."""

    def __init__(self, inner: Any = None) -> None:
        self.inner = inner

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        assert info is not None
        return iter(self.inner.shard(num_shards=info.num_workers, index=info.id))


class Striding(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        index = info.id if info else 0
        while index < len(FILES):
            yield FILES[index]
            index += info.num_workers if info else 1


class Holding(IterableDataset[Any]):
    def __init__(self, *inner: Any) -> None:
        self.inner = inner

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain(*self.inner)


# Data sets that ask which worker they are in, and may not divide


class Seeding(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        shuffled = list(FILES)
        random.Random(info.seed if info else 0).shuffle(shuffled)
        return iter(shuffled)


class Logging(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        if info is not None:
            print(f"worker {info.id} of {info.num_workers}", f"{info.id}/{info.num_workers}"[1:])
        return iter(range(len(FILES)))


class Noting(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        notes = {"1/2": 0, "0/2": 1}
        if info is not None:
            print(notes[f"{info.id}/{info.num_workers}"])
        return iter(FILES)


class Switched(IterableDataset[Any]):
    """Divides if ``divide`` is set."""

    divide = False

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        files = iter(FILES)
        if self.divide and info is not None:
            files = islice(FILES, info.id, None, info.num_workers)
        return files


class SwitchedPart(Switched):
    def __iter__(self) -> Iterator[Any]:
        first, stride = 0, 1
        if (info := get_worker_info()) is not None and self.divide:
            first, stride = info.id, info.num_workers
        return islice(FILES, first, None, stride)


class SwitchedSlice(Switched):
    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        assert info is not None
        return iter(FILES[info.id :: info.num_workers] if self.divide else FILES)


class CountOnly(IterableDataset[Any]):
    """Shortens its epoch, and yields the same in each worker."""

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        return iter(range(len(FILES) // (info.num_workers if info else 1)))


class AskedTooEarly(IterableDataset[Any]):
    """In the training process, where there is no worker."""

    def __init__(self) -> None:
        info = get_worker_info()
        self.files = FILES[info.id :: info.num_workers] if info is not None else FILES

    def __iter__(self) -> Iterator[Any]:
        return iter(self.files)


class OwnFile(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        return iter(FILES[info.id if info else 0])


def is_sharded(dataset: Any, **settings: Any) -> bool | None:
    return shards_itself(DataLoader(dataset, **settings))[0]


@pytest.mark.parametrize(
    "kind", [Stream, Sliced, Islice, Remainder, Contiguous, ByPlace, ArraySplit, OfDatasets, Striding]
)
def test_a_data_set_that_divides_by_worker_is_sharded(kind: type[Any]) -> None:
    assert is_sharded(kind()) is True


@pytest.mark.parametrize(
    "kind", [Seeding, Logging, Noting, Switched, SwitchedPart, SwitchedSlice, CountOnly, AskedTooEarly, OwnFile]
)
def test_a_data_set_that_only_asks_is_not_known_to_be_sharded(kind: type[Any]) -> None:
    facts = loader_facts(DataLoader(kind()), "train", "train.py:41", {})
    assert (facts.shards, facts.why_unsharded) == (None, None)
    assert "whether it divides its data by that is not known" in facts.not_measured["shards"]
    assert sharding_with(DataLoader(kind()), 4)[0] is not True


def test_a_data_set_that_does_not_ask_is_not_sharded() -> None:
    assert is_sharded(Unsharded()) is False


def test_a_data_set_is_sharded_if_all_that_it_holds_are() -> None:
    assert is_sharded(Holding(Sliced(), Stream())) is True
    assert is_sharded(Holding(Holding(Sliced()))) is True
    assert is_sharded(ChainDataset([Sliced(), Stream()])) is True
    assert is_sharded(Holding(Sliced(), Unsharded())) is None
    assert is_sharded(Holding(Sliced(), Seeding())) is None
    assert is_sharded(Holding(Unsharded())) is False


def test_a_class_without_source_is_not_known_to_be_sharded() -> None:
    made: dict[str, Any] = {
        "__name__": "typed",
        "IterableDataset": IterableDataset,
        "get_worker_info": get_worker_info,
        "FILES": FILES,
    }
    exec(
        "class Typed(IterableDataset):\n def __iter__(self):\n  info = get_worker_info()\n"
        "  return iter(FILES[info.id :: info.num_workers])",
        made,
    )
    assert is_sharded(made["Typed"]()) is None


def test_a_data_set_that_reaches_too_much_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharding, "VISITED", 3)
    assert is_sharded(Holding(*[Unsharded(number) for number in range(8)])) is None


def of(package: str, name: str) -> Any:
    """A data set of another package's class."""
    return type(name, (Unsharded,), {"__module__": f"{package}.module"})()


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("datasets", "IterableDataset"),
        ("litdata", "StreamingDataset"),
        ("litdata", "CombinedStreamingDataset"),
        ("streaming", "StreamingDataset"),
    ],
)
def test_packages_that_divide_by_worker_are_known(package: str, name: str) -> None:
    assert is_sharded(of(package, name)) is True
    assert is_sharded(Holding(of(package, name))) is True
    around = of("accelerate", "IterableDatasetShard")
    around.dataset = of(package, name)
    assert is_sharded(around) is True
    around.dataset = Unsharded()
    assert is_sharded(around) is False


def splits_itself(source: Any) -> Any:
    info = get_worker_info()
    return islice(source, info.id, None, info.num_workers) if info else source


def decoded(source: Any) -> Any:
    return source


def test_a_pipeline_of_webdatasets_is_sharded_by_its_stages() -> None:
    from webdataset import (
        DataPipeline,
        ResampledShards,
        SimpleShardList,
        WebDataset,
        split_by_worker,
        tarfile_to_samples,
    )

    shards = SimpleShardList(FILES)
    assert is_sharded(WebDataset(FILES, shardshuffle=False)) is True
    assert is_sharded(DataPipeline(shards, split_by_worker, tarfile_to_samples())) is True
    assert is_sharded(DataPipeline(ResampledShards(FILES), tarfile_to_samples())) is True
    assert is_sharded(DataPipeline(shards, splits_itself)) is None
    assert is_sharded(WebDataset(FILES, shardshuffle=False, workersplitter=None)) is False
    loader = DataLoader(DataPipeline(shards, tarfile_to_samples(), decoded))
    assert shards_itself(loader)[0] is False
    assert "no split_by_worker" in (sharding_with(loader, 2)[1] or "")


def test_what_divides_elsewhere_is_not_known() -> None:
    assert is_sharded(Unsharded(), worker_init_fn=print) is None


def test_nothing_of_the_program_runs_to_find_it_out() -> None:
    class Refusing(Sliced):
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"asked for {name}")

        def __len__(self) -> int:
            raise AssertionError("asked")

    assert is_sharded(Refusing()) is True


class Plain(IterableDataset[Tensor]):
    """Its source is long, and names much."""

    def __iter__(self) -> Iterator[Tensor]:
        return iter(Stream())


def test_a_data_set_that_makes_a_sharded_one_is_not_known_to_be() -> None:
    """What it makes may be only a part of what it yields."""
    assert is_sharded(Plain()) is not False
