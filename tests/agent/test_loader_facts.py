"""The facts of a loader: its settings as they are, its transforms by name, and no code of the user's run."""

from __future__ import annotations

import multiprocessing
import random
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, Sampler, SequentialSampler, Subset

from tests.fakes.datasets import Numbers, Stream, slow_collate
from underfed.exchange.facts import LoaderFacts
from underfed.exchange.ring_format import NOT_MEASURED
from underfed.trainer.batch import DEPTH, ITEMS, UNMEASURED, measure_batch
from underfed.trainer.hooks.ahead import dispatches, requests_a_step
from underfed.trainer.narrow_values import fits_uint8
from underfed.trainer.settings.loader_facts import loader_facts


def facts_of(loader: DataLoader[Any]) -> LoaderFacts:
    return loader_facts(loader, "train", "train.py:41", {})


def test_settings_are_the_loaders_own() -> None:
    loader = DataLoader(
        Numbers(),
        batch_size=4,
        num_workers=2,
        prefetch_factor=5,
        persistent_workers=True,
        drop_last=True,
        timeout=7,
        multiprocessing_context="spawn",
        in_order=False,
    )
    assert facts_of(loader).settings == {
        "num_workers": 2,
        "prefetch_factor": 5,
        "batch_size": 4,
        "pin_memory": False,
        "persistent_workers": True,
        "in_order": False,
        "drop_last": True,
        "timeout_s": 7.0,
        "multiprocessing_context": "spawn",
        "sharing_strategy": "file_descriptor",
    }


def test_asking_for_the_default_start_method_does_not_fix_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing.context._default_context, "_actual_context", None)
    default = multiprocessing.get_all_start_methods()[0]
    assert facts_of(DataLoader(Numbers(), num_workers=1)).settings["multiprocessing_context"] == default
    assert multiprocessing.get_start_method(allow_none=True) is None


def test_a_batch_sampler_reports_its_size_and_name() -> None:
    class Buckets(BatchSampler):
        pass

    loader = DataLoader(Numbers(), batch_sampler=Buckets(SequentialSampler(range(24)), 5, drop_last=False))
    facts = facts_of(loader)
    assert (facts.settings["batch_size"], facts.sampler_type, facts.batches_per_epoch) == (5, "Buckets", 5)


class Drawing(Sampler[int]):
    """Its length is drawn anew each time, as where it drops samples at random."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return 8 + int(torch.randint(8, ()))


class DrawingBuckets(BatchSampler):
    def __len__(self) -> int:
        return 2 + int(torch.randint(8, ()))


class Counted(DataLoader[Any]):
    def __len__(self) -> int:
        return int(torch.randint(8, ()))


@pytest.mark.parametrize(
    "make",
    [
        lambda: DataLoader(Numbers(), sampler=Drawing()),
        lambda: DataLoader(Numbers(), batch_size=4, sampler=Drawing()),
        lambda: DataLoader(Numbers(), batch_sampler=BatchSampler(Drawing(), 4, drop_last=False)),
        lambda: DataLoader(Numbers(), batch_sampler=DrawingBuckets(SequentialSampler(range(24)), 4, drop_last=False)),
        lambda: Counted(Numbers()),
    ],
)
def test_a_sampler_that_may_draw_random_numbers_is_not_counted(make: Callable[[], DataLoader[Any]]) -> None:
    """All that is drawn later would be drawn otherwise."""
    loader = make()
    before = torch.get_rng_state()
    facts = facts_of(loader)
    assert torch.equal(torch.get_rng_state(), before)
    assert facts.batches_per_epoch is None
    assert "random" in facts.not_measured["batches_per_epoch"]


class DrawingNumbers(Numbers):
    def __len__(self) -> int:
        return 24 + 0 * int(torch.randint(8, ()) + random.randrange(8) + numpy.random.randint(8))


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_data_set_that_draws_to_find_its_length_draws_the_same_afterwards(shuffle: bool) -> None:
    loader = DataLoader(DrawingNumbers(), shuffle=shuffle)

    def drawn() -> list[float]:
        return [random.random(), float(torch.rand(())), float(numpy.random.random())]

    states = random.getstate(), torch.get_rng_state(), numpy.random.get_state()
    expected = drawn()
    random.setstate(states[0])
    torch.set_rng_state(states[1])
    numpy.random.set_state(states[2])
    assert facts_of(loader).dataset_length == 24
    assert drawn() == expected


def test_samplers_and_collate_functions_are_named() -> None:
    assert facts_of(DataLoader(Numbers())).sampler_type == "SequentialSampler"
    assert facts_of(DataLoader(Numbers(), shuffle=True)).sampler_type == "RandomSampler"
    assert facts_of(DataLoader(Numbers(), batch_size=2)).collate_type == "default_collate"
    assert facts_of(DataLoader(Numbers(), collate_fn=slow_collate)).collate_type == "slow_collate"
    assert facts_of(DataLoader(Numbers(), collate_fn=partial(slow_collate))).collate_type == "slow_collate"


@pytest.mark.parametrize("num_workers", [0, 2])
def test_only_a_loader_without_workers_has_no_queue(num_workers: int) -> None:
    reasons = facts_of(DataLoader(Numbers(), num_workers=num_workers)).not_measured
    assert ("queue_depth" in reasons) is (num_workers == 0)


def test_an_endless_sampler_is_no_length() -> None:
    sampler = RandomSampler(Numbers(), replacement=True, num_samples=2**60)
    facts = facts_of(DataLoader(Numbers(), sampler=sampler))
    assert facts.batches_per_epoch is None
    assert "endless" in facts.not_measured["batches_per_epoch"]


def test_an_iterable_data_set_is_not_asked_for_its_length() -> None:
    class Counted(Stream):
        def __len__(self) -> int:
            raise AssertionError("asked")

    loader = DataLoader(Counted())
    facts = facts_of(loader)
    assert (facts.dataset_kind, facts.dataset_length, facts.sampler_type) == ("iterable", None, None)
    assert loader._IterableDataset_len_called is None


class Compose:
    def __init__(self, *transforms: Any) -> None:
        self.transforms = list(transforms)


class Crop:
    def __call__(self, picture: Tensor) -> Tensor:
        return picture


def flip(picture: Tensor) -> Tensor:
    return picture


@pytest.mark.parametrize(
    ("transform", "names"),
    [
        (Compose(Crop(), flip), ["Crop", "flip"]),
        (Crop(), ["Crop"]),
        ([Crop(), flip], ["Crop", "flip"]),
        (nn.Sequential(nn.ReLU(), nn.Flatten()), ["ReLU", "Flatten"]),
        (partial(flip), ["flip"]),
        (None, None),
    ],
)
def test_transforms_are_named(transform: Any, names: list[str] | None) -> None:
    dataset = Numbers()
    dataset.transform = transform  # type: ignore[attr-defined]
    assert facts_of(DataLoader(dataset)).transforms == names
    assert facts_of(DataLoader(Subset(Subset(dataset, [1, 2]), [0]))).transforms == names


def test_looking_for_transforms_runs_no_code_of_the_users() -> None:
    class Magic(Numbers):
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"asked for {name}")

    assert facts_of(DataLoader(Magic())).transforms is None


def test_many_transforms_are_cut() -> None:
    dataset = Numbers()
    dataset.transform = [flip] * 1000  # type: ignore[attr-defined]
    assert len(facts_of(DataLoader(dataset)).transforms or []) == 32


Pair = namedtuple("Pair", ["image", "label"])


@dataclass
class Example:
    image: Tensor
    name: str


@pytest.mark.parametrize(
    ("batch", "shape"),
    [
        (torch.zeros(4, 3), (1, 48)),
        ([torch.zeros(2), torch.zeros(3, dtype=torch.int64)], (2, 8 + 24)),
        ({"image": torch.zeros(4), "more": {"label": torch.zeros(1)}, "name": "x"}, (2, 20)),
        (OrderedDict(image=torch.zeros(4)), (1, 16)),
        (Pair(torch.zeros(4), 3), (1, 16)),
        (Example(torch.zeros(4), "x"), (1, 16)),
        ("text", (0, 0)),
        (None, (0, 0)),
        ([1.0] * (ITEMS + 1), (NOT_MEASURED, NOT_MEASURED)),
        ([[1.0] * 200] * 200, (NOT_MEASURED, NOT_MEASURED)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_tensors_and_bytes_of_a_batch_are_counted(batch: Any, shape: tuple[int, int]) -> None:
    assert measure_batch(batch)[:2] == shape


def test_a_batch_that_holds_itself_is_not_measured() -> None:
    batch: list[Any] = []
    batch.append(batch)
    assert measure_batch(batch) == UNMEASURED
    assert DEPTH < 20


def test_bytes_of_a_batch_are_reported_by_type() -> None:
    batch = {"image": torch.zeros(4), "more": [torch.zeros(2), torch.zeros(3, dtype=torch.int64)], "name": "x"}
    assert measure_batch(batch).bytes_by_dtype == {"float32": 24, "int64": 24}


BGR = torch.tensor([104.0, 117.0, 123.0])[:, None, None]
"""Means as models from Caffe have them: whole numbers."""


def normalised(pictures: Tensor, most: int = 255) -> Tensor:
    """As torchvision's models want them."""
    mean, deviation = (torch.tensor(values)[:, None, None] for values in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    return (pictures / most - mean) / deviation


@pytest.mark.parametrize(
    ("tensor", "fits"),
    [
        (torch.randint(256, (8, 3, 64, 64)).float(), True),
        (torch.randint(256, (8, 3, 64, 64)).double(), True),
        (torch.randint(256, (8, 3, 64, 64)).float() / 255, True),
        (torch.arange(5.0), True),
        (torch.rand(8, 3, 64, 64), False),
        ((torch.randint(256, (8, 3, 64, 64)) / 255 - 0.45) / 0.22, True),
        (normalised(torch.randint(256, (8, 3, 64, 64))), True),
        (normalised(torch.randint(256, (8, 3, 64, 64))).double(), True),
        (normalised(torch.randint(256, (2, 3, 30, 41))), True),
        (normalised(torch.arange(8 * 3 * 64 * 64).reshape(8, 3, 64, 64) // 4 % 256), True),
        (normalised(torch.randint(256, (8, 3, 64, 64))).contiguous(memory_format=torch.channels_last), True),
        (normalised(torch.randint(256, (8, 3, 64, 64))).permute(0, 2, 3, 1).contiguous(), True),
        (torch.randint(256, (8, 3, 64, 64)).float().contiguous(memory_format=torch.channels_last), True),
        (torch.rand(8, 3, 64, 64).contiguous(memory_format=torch.channels_last), False),
        (torch.randint(256, (8, 3, 64, 64)) - BGR, True),
        ((torch.randint(256, (8, 3, 64, 64)) - BGR).contiguous(memory_format=torch.channels_last), True),
        (torch.randint(400, (8, 3, 64, 64)) - BGR, False),
        (torch.randint(256, (8, 3, 64, 64)) + 256.0 * torch.arange(8)[:, None, None, None], False),
        (normalised(torch.randint(4096, (8, 3, 64, 64)), 4095), False),
        (normalised(torch.arange(8 * 3 * 64 * 64).reshape(8, 3, 64, 64) % 4096, 4095), False),
        (normalised(torch.randint(256, (8, 3, 64, 64))) + 0.002 * torch.rand(8, 3, 64, 64), False),
        (torch.randn(8, 3, 64, 64), False),
        (torch.randn(8, 3, 64, 64).half().float(), False),
        (torch.arange(8 * 3 * 64 * 64).reshape(8, 3, 64, 64) - 1000.0, False),
        (torch.randint(-9, 256, (4096,)).float(), False),
        (torch.randint(300, (4096,)).float() + 1, False),
        (torch.tensor([1.0, 2.0, float("nan")]), False),
        (torch.tensor([1.0, 2.0, float("inf")]), False),
        (torch.zeros(4096), None),
        (torch.randint(2, (4096,)).float(), None),
        (torch.zeros(0), None),
        (torch.randint(256, (4096,)).half(), None),
        (torch.randint(256, (4096,)), None),
        (torch.randint(256, (64, 64)).float().T, None),
        (torch.randint(256, (64, 64)).float().to_sparse(), None),
        (torch.randint(256, (64, 64)).float().to("meta"), None),
        (nn.Parameter(torch.randint(256, (4096,)).float()), None),
    ],
)
def test_whether_eight_bits_would_do_is_seen_in_a_sample_of_the_values(tensor: Tensor, fits: bool | None) -> None:
    assert fits_uint8(tensor) is fits


def test_pictures_that_are_mostly_of_one_colour_are_judged_by_the_rest() -> None:
    pictures = torch.randint(256, (16, 3, 64, 64))
    pictures[:, :, :40] = 17
    assert fits_uint8(normalised(pictures)) is True
    pictures[:] = 17
    assert fits_uint8(normalised(pictures)) is False


def typed(package: str, name: str, base: type = Stream, **attributes: Any) -> Any:
    """A data set of another package's class, or of one that a program derived from it."""
    kind = type(name, (base,), {"__module__": f"{package}.module"})
    made = type("Derived", (kind,), {})()
    vars(made).update(attributes)
    return made


class HasProperty(Stream):
    @property
    def num_shards(self) -> int:
        return 6


class Refusing(Stream):
    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")


def pipeline(*stages: Any) -> Any:
    from webdataset import DataPipeline

    return DataPipeline(*stages)


@pytest.mark.parametrize(
    ("dataset", "shards"),
    [
        (typed("datasets", "IterableDataset", HasProperty), 6),
        (typed("litdata", "StreamingDataset", subsampled_files=["a", "b", "c", "a"]), 3),
        (typed("litdata", "StreamingDataset", subsampled_files=[]), None),
        (typed("streaming", "StreamingDataset", shards=[1, 2]), 2),
        (typed("mine", "Wrapper", dataset=typed("streaming", "StreamingDataset", shards=[1, 2])), 2),
        (typed("mine", "Files", shards=("a", "b", "c", "d")), 4),
        (typed("mine", "OneOf", shards=8), None),
        (HasProperty(), None),
        (Stream(), None),
    ],
)
def test_shards_are_counted_where_a_data_set_keeps_them(dataset: Any, shards: int | None) -> None:
    assert facts_of(DataLoader(dataset)).dataset_shards == shards


@pytest.mark.parametrize(
    ("dataset", "is_whole"),
    [
        (typed("datasets", "IterableDataset", HasProperty), True),
        (typed("accelerate", "IterableDatasetShard", dataset=typed("datasets", "IterableDataset", HasProperty)), True),
        (typed("litdata", "StreamingDataset", subsampled_files=["a"]), False),
        (typed("streaming", "StreamingDataset", shards=[1, 2]), False),
        (typed("mine", "Files", shards=("a", "b")), None),
        (Stream(), None),
    ],
)
def test_workers_of_some_packages_read_whole_shards(dataset: Any, is_whole: bool | None) -> None:
    assert facts_of(DataLoader(dataset)).takes_whole_shards is is_whole


def test_workers_of_a_pipeline_of_webdatasets_read_whole_shards() -> None:
    from webdataset import WebDataset

    assert facts_of(DataLoader(WebDataset(["0.tar"], shardshuffle=False))).takes_whole_shards is True


class Batched(Numbers):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


class Answering(Numbers):
    def __getattr__(self, name: str) -> Any:
        if name == "__getitems__":
            raise AssertionError("asked")
        raise AttributeError(name)


def test_a_data_set_that_is_asked_for_whole_batches_is_known() -> None:
    plain, batched = Numbers(), Batched()
    known = {each: facts_of(DataLoader(each)).fetches_batches for each in (plain, batched, Answering(), Stream())}
    assert list(known.values()) == [False, True, False, None]
    assert facts_of(DataLoader(Subset(Subset(plain, [0, 1]), [0]))).fetches_batches is False
    assert facts_of(DataLoader(Subset(batched, [0, 1]))).fetches_batches is True
    assert facts_of(DataLoader(plain, batch_size=None)).fetches_batches is True


def test_shards_of_a_pipeline_of_webdatasets_are_those_that_this_rank_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    from webdataset import ResampledShards, SimpleShardList, WebDataset, split_by_node, split_by_worker

    urls = [f"{number}.tar" for number in range(5)]
    whole = WebDataset(urls, shardshuffle=False)
    divided = pipeline(SimpleShardList(urls), split_by_node, split_by_worker)
    resampled = pipeline(ResampledShards(urls))
    for rank, of_rank in ((0, 3), (1, 2)):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "2")
        shards = [facts_of(DataLoader(each)).dataset_shards for each in (whole, divided, pipeline(divided), resampled)]
        assert shards == [5, of_rank, of_rank, None]


def test_a_map_style_data_set_has_no_shards_to_share() -> None:
    dataset = Numbers()
    dataset.shards = ["a", "b"]  # type: ignore[attr-defined]
    assert facts_of(DataLoader(dataset)).dataset_shards is None


def test_counting_shards_draws_no_random_numbers_and_asks_nothing_of_the_data_set() -> None:
    before = torch.get_rng_state(), random.getstate()
    assert facts_of(DataLoader(Refusing())).dataset_shards is None
    assert (
        facts_of(DataLoader(typed("litdata", "StreamingDataset", Refusing, subsampled_files=["a"]))).dataset_shards == 1
    )
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]


@pytest.mark.parametrize(
    ("name", "ranks", "is_one"),
    [("DataLoaderDispatcher", 2, True), ("DataLoaderDispatcher", 1, False), ("DataLoaderShard", 2, False)],
)
def test_a_dispatcher_loads_on_one_rank_for_the_others(name: str, ranks: int, is_one: bool) -> None:
    adapter = type(name, (), {})()
    adapter.state = type("PartialState", (), {"num_processes": ranks})()
    assert dispatches(adapter) is is_one
    assert requests_a_step(adapter) == (ranks if is_one else 1)
    adapter.split_batches = True
    assert requests_a_step(adapter) == 1


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
def test_a_stateful_loader_reports_how_often_it_takes_its_state() -> None:
    from torchdata.stateful_dataloader import StatefulDataLoader

    assert facts_of(StatefulDataLoader(Numbers(), snapshot_every_n_steps=7)).snapshot_interval_steps == 7
    assert facts_of(StatefulDataLoader(Numbers())).snapshot_interval_steps == 1
    assert facts_of(DataLoader(Numbers())).snapshot_interval_steps is None


class Stateful(Numbers):
    def state_dict(self) -> dict[str, Any]:
        raise AssertionError("asked")


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
def test_a_stateful_loader_reports_whether_its_data_set_has_a_state() -> None:
    from torchdata.stateful_dataloader import StatefulDataLoader

    loaders = (StatefulDataLoader(Stateful()), StatefulDataLoader(Numbers()), DataLoader(Stateful()))
    assert [facts_of(each).keeps_state for each in loaders] == [True, False, None]
