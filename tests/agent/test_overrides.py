"""``--set``: the training loader gets other settings as if it had been made with them, or a refusal that says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    WeightedRandomSampler,
    get_worker_info,
)

from tests.fakes.datasets import Numbers, Stream
from tests.fakes.jobs import run_text
from underfed.errors import ConfigError
from underfed.exchange import launch
from underfed.exchange.config import Value
from underfed.exchange.facts import LoaderFacts, SourceLine
from underfed.trainer.loading.worker import apply_threads
from underfed.trainer.settings import overrides
from underfed.trainer.settings.overrides import NOT_YET, Overrides, read_overrides
from underfed.trainer.settings.sharding import sharding_with
from underfed.trainer.settings.training_loaders import goes_in_order
from underfed.trainer.settings.tunable import NAMES, check_settings
from underfed.trainer.settings.wanted import NOT_FOUND, Identity, Wanted, decode, encode, identity_of, parse_words

# A machine may have fewer CPUs than these tests ask for workers.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


@pytest.fixture(autouse=True)
def no_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever these tests run."""
    monkeypatch.setattr(overrides, "has_accelerator", lambda: False)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def override(said: list[str]) -> Callable[..., Overrides]:
    """Makes the settings of a process; what it says goes to ``said``."""
    return lambda **settings: Overrides(settings, said.append)


def made_by_init(loader: DataLoader[Any]) -> dict[str, Any]:
    """The attributes that a loader's arguments decide about."""
    names = (*NAMES[:-1], "timeout", "_DataLoader__multiprocessing_context", "multiprocessing_context")
    return {name: getattr(loader, name) for name in names if name != "threads_per_worker"}


def shuffled(**arguments: Any) -> DataLoader[Any]:
    return DataLoader(Numbers(), batch_size=4, shuffle=True, **arguments)


# What they are


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["num_workers=4", "prefetch_factor=2"], {"num_workers": 4, "prefetch_factor": 2}),
        (["in_order=False", "pin_memory=1", "persistent_workers=ON"],
         {"in_order": False, "pin_memory": True, "persistent_workers": True}),
        ([" num_workers = 0 "], {"num_workers": 0}),
        (["threads_per_worker=3"], {"threads_per_worker": 3}),
    ],
)  # fmt: skip
def test_settings_are_read_as_typed_and_pass_through_a_variable(words: list[str], settings: dict[str, Value]) -> None:
    assert parse_words(words) == (settings, {})
    assert decode(encode(settings, [])) == (settings, ())


@pytest.mark.parametrize(
    "word", ["num_workers", "=4", "batch_size=4", "num_workers=1.5", "num_workers=²", "in_order=2"]
)
def test_what_is_no_setting_is_refused_by_its_word(word: str) -> None:
    with pytest.raises(ConfigError, match=r"--set"):
        parse_words([word])


@pytest.mark.parametrize(
    "settings",
    [
        {"num_workers": 0, "prefetch_factor": 2},
        {"num_workers": 0, "threads_per_worker": 2},
        {"num_workers": 0, "in_order": False},
        {"num_workers": True},
        {"num_workers": "4"},
        {"batch_size": 4},
    ],
)
def test_settings_that_cannot_be_are_refused_together(settings: dict[str, Value]) -> None:
    with pytest.raises(ConfigError):
        check_settings(settings)


def test_nothing_is_read_where_nothing_is_set() -> None:
    assert read_overrides({}, print) is None
    read = read_overrides({launch.SET: encode({"num_workers": 2, "in_order": False}, [])}, print)
    assert read is not None
    assert read.refused == {"num_workers": NOT_YET, "in_order": NOT_YET}


# What becomes of the loader


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({}, {"num_workers": 2}),
        ({}, {"num_workers": 2, "prefetch_factor": 5, "persistent_workers": True, "in_order": False}),
        ({"num_workers": 3, "prefetch_factor": 4}, {"num_workers": 2}),
        ({"num_workers": 3, "prefetch_factor": 4}, {"prefetch_factor": 7}),
        ({"num_workers": 3, "persistent_workers": True}, {"num_workers": 0}),
        ({"num_workers": 3, "persistent_workers": True}, {"persistent_workers": False}),
        ({"num_workers": 2, "multiprocessing_context": "spawn"}, {"num_workers": 0}),
        ({"num_workers": 2, "timeout": 5.0, "prefetch_factor": 4}, {"num_workers": 0}),
        ({"num_workers": 0, "prefetch_factor": None}, {"num_workers": 2}),
        ({"pin_memory": True}, {"pin_memory": False}),
    ],
)
def test_a_loader_is_as_if_it_had_been_made_so(
    given: dict[str, Any], settings: dict[str, Any], override: Callable[..., Overrides], said: list[str]
) -> None:
    chosen, loader = override(**settings), shuffled(**given)
    chosen.before_iter(loader)
    # What is left of the given arguments where others are set beside it.
    arguments = {**given, **settings}
    if not arguments.get("num_workers"):
        arguments = {name: arguments[name] for name in arguments if name in ("num_workers", "pin_memory")}
    assert made_by_init(loader) == made_by_init(shuffled(**arguments))
    assert (chosen.applied, chosen.refused) == (settings, {})
    (line,) = said
    assert all(name in line for name in settings)


def test_batches_and_their_order_stay_what_they_were(override: Callable[..., Overrides]) -> None:
    def batches(change: bool) -> list[list[float]]:
        torch.manual_seed(3)
        loader = shuffled()
        if change:
            override(num_workers=2, prefetch_factor=3).before_iter(loader)
        iterator = iter(loader)
        assert iterator._num_workers == (2 if change else 0)
        return [batch[:, 0].tolist() for batch in iterator]

    assert batches(True) == batches(False)


def test_a_loader_is_changed_once_and_before_its_first_iterator(
    override: Callable[..., Overrides], said: list[str]
) -> None:
    chosen, loader = override(num_workers=2), shuffled()
    chosen.before_iter(loader)
    loader.num_workers = 1  # the user's own decision, later
    chosen.before_iter(loader)
    assert loader.num_workers == 1
    assert len(said) == 1


def test_every_loader_that_is_created_again_is_changed_and_reported_once(
    override: Callable[..., Overrides], said: list[str]
) -> None:
    chosen, changes = override(num_workers=2, pin_memory=True), list[bool]()
    chosen.changed = lambda: changes.append(True)
    for _ in range(3):
        loader = shuffled()
        chosen.before_iter(loader)
        assert loader.num_workers == 2
    assert (len(said), len(changes)) == (2, 1)


def test_each_change_is_reported(override: Callable[..., Overrides]) -> None:
    chosen = override(num_workers=2, pin_memory=True)
    seen: list[tuple[dict[str, Value], list[str]]] = []
    chosen.changed = lambda: seen.append((dict(chosen.applied), list(chosen.refused)))
    chosen.before_iter(shuffled())
    assert seen == [({"num_workers": 2}, ["pin_memory"])]


# Which loader it is


class Shards:
    """As frameworks wrap a batch sampler."""

    def __init__(self, batch_sampler: Any) -> None:
        self.batch_sampler = batch_sampler

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.batch_sampler)


@pytest.mark.parametrize(
    ("sampler", "in_order"),
    [
        (SequentialSampler(range(9)), True),
        (range(9), True),
        (DistributedSampler(Numbers(), num_replicas=2, rank=0, shuffle=False), True),
        (DistributedSampler(Numbers(), num_replicas=2, rank=0, shuffle=True), False),
        (RandomSampler(range(9)), False),
        (WeightedRandomSampler([1.0, 2.0], 2), False),
        ([3, 1, 2], False),
    ],
)
def test_a_sequential_sampler_is_distinguished_from_one_that_shuffles(sampler: Any, in_order: bool) -> None:
    assert goes_in_order(DataLoader(Numbers(), sampler=sampler)) is in_order
    assert goes_in_order(DataLoader(Numbers(), batch_sampler=Shards(BatchSampler(sampler, 2, False)))) is in_order


def test_of_sequential_loaders_the_first_is_trained_from(override: Callable[..., Overrides]) -> None:
    chosen, train, val = override(num_workers=2), DataLoader(Numbers()), DataLoader(Numbers())
    for _ in range(2):
        chosen.before_iter(train)
        chosen.before_iter(val)
    assert (train.num_workers, val.num_workers) == (2, 0)


def test_one_that_shuffles_is_trained_from_wherever_it_comes(override: Callable[..., Overrides]) -> None:
    chosen, first, second = override(num_workers=2), DataLoader(Numbers()), shuffled()
    chosen.before_iter(first)
    chosen.before_iter(second)
    assert (first.num_workers, second.num_workers) == (2, 2)


def test_beside_one_that_shuffles_sequential_ones_are_for_validation(override: Callable[..., Overrides]) -> None:
    """Also when the first was let go of."""
    chosen, val = override(num_workers=2), DataLoader(Numbers())
    chosen.before_iter(shuffled())
    chosen.before_iter(val)
    assert val.num_workers == 0


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_nobody_trains(mode: Any, override: Callable[..., Overrides], said: list[str]) -> None:
    chosen, val, train = override(num_workers=2), DataLoader(Numbers()), DataLoader(Numbers(8))
    with mode():
        chosen.before_iter(val)
    assert (val.num_workers, chosen.applied, chosen.refused, said) == (0, {}, {"num_workers": NOT_YET}, [])
    chosen.before_iter(train)
    assert train.num_workers == 2


def test_the_first_may_be_made_anew_over_its_data_set_or_in_its_place(override: Callable[..., Overrides]) -> None:
    chosen, dataset = override(num_workers=2), Numbers()
    first = DataLoader(dataset)
    chosen.before_iter(first)
    again = DataLoader(dataset)
    chosen.before_iter(again)
    assert again.num_workers == 2
    del first, again
    replacement = DataLoader(Numbers())
    chosen.before_iter(replacement)
    assert replacement.num_workers == 2


class Nested(Dataset[int]):
    """Loads each of its samples with a loader of its own."""

    def __init__(self, chosen: Overrides) -> None:
        self.chosen = chosen

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> int:
        inner = shuffled()
        self.chosen.before_iter(inner)
        return inner.num_workers + len(self.chosen.applied)


def test_a_loader_within_a_worker_is_left_alone(override: Callable[..., Overrides]) -> None:
    assert [int(found) for found in DataLoader(Nested(override(num_workers=1)), num_workers=1)] == [0, 0]


# One of several


AT = Identity("train.py:4", None, "Numbers")


@pytest.fixture
def wanting(said: list[str]) -> Callable[..., Overrides]:
    """Settings for single loaders, in a program whose loaders are called as in ``names``."""

    def make(*wanted: Wanted, names: dict[int, tuple[str, Identity]], **of_all: Value) -> Overrides:
        chosen = Overrides(of_all, said.append, wanted)
        chosen.identify = lambda loader: names.get(id(loader))
        return chosen

    return make


def test_words_say_which_loader_they_are_for() -> None:
    words = ["num_workers=4", "loader-2.num_workers=1", "a.b=c.pin_memory=true"]
    assert parse_words(words) == ({"num_workers": 4}, {"loader-2": {"num_workers": 1}, "a.b=c": {"pin_memory": True}})
    wanted = Wanted("loader-2", {"num_workers": 1}, "run-1", AT)
    assert decode(encode({"num_workers": 4}, [wanted])) == ({"num_workers": 4}, (wanted,))


def test_the_loader_that_is_meant_alone_gets_its_settings(wanting: Callable[..., Overrides], said: list[str]) -> None:
    one, other, val = shuffled(), shuffled(), DataLoader(Numbers())
    names = {id(one): ("loader-1", AT), id(other): ("loader-2", AT), id(val): ("loader-3", AT)}
    chosen = wanting(
        Wanted("loader-2", {"num_workers": 2}, "run-1", AT), Wanted("loader-3", {"num_workers": 1}), names=names
    )
    for each in (one, other, val):
        chosen.before_iter(each)
    assert (one.num_workers, other.num_workers, val.num_workers) == (0, 2, 1)
    assert chosen.applied == {"loader-2.num_workers": 2, "loader-3.num_workers": 1}
    assert (chosen.set_of(one), chosen.set_of(other)) == ({}, {"num_workers": 2})
    assert (chosen.refused, len(said)) == ({}, 2)


def test_what_is_for_one_stands_beside_what_is_for_all(wanting: Callable[..., Overrides]) -> None:
    one, other = shuffled(), shuffled()
    names = {id(one): ("loader-1", AT), id(other): ("loader-2", AT)}
    chosen = wanting(Wanted("loader-2", {"num_workers": 1}), names=names, num_workers=3, prefetch_factor=4)
    for each in (one, other):
        chosen.before_iter(each)
    assert [(each.num_workers, each.prefetch_factor) for each in (one, other)] == [(3, 4), (1, 4)]
    assert chosen.applied == {"num_workers": 3, "prefetch_factor": 4, "loader-2.num_workers": 1}


@pytest.mark.parametrize(
    "found", [Identity("train.py:9", None, "Numbers"), Identity("train.py:4", None, "Pictures"), Identity()]
)
def test_a_loader_of_the_same_number_that_is_another_one_is_left_alone(
    found: Identity, wanting: Callable[..., Overrides], said: list[str]
) -> None:
    loader = shuffled()
    chosen = wanting(Wanted("loader-1", {"num_workers": 2}, "run-1", AT), names={id(loader): ("loader-1", found)})
    for _ in range(2):
        chosen.before_iter(loader)
    assert (loader.num_workers, chosen.applied) == (0, {})
    (line,) = said
    assert line.startswith("loader-1 was constructed at train.py:4, over Numbers in run run-1, and ")
    assert line.endswith(": nothing is set") and chosen.refused["loader-1.num_workers"] in line


def test_one_that_its_program_named_is_known_by_its_name(wanting: Callable[..., Overrides]) -> None:
    loader = shuffled()
    moved = Identity("other.py:1", None, "Pictures")
    wanting(Wanted("train", {"num_workers": 2}, "run-1", AT), names={id(loader): ("train", moved)}).before_iter(loader)
    assert loader.num_workers == 2


def test_one_that_never_comes_is_not_set_and_another_is_not_in_its_place(wanting: Callable[..., Overrides]) -> None:
    loader = shuffled()
    chosen = wanting(Wanted("loader-2", {"num_workers": 2}), names={id(loader): ("loader-1", AT)})
    chosen.before_iter(loader)
    assert (loader.num_workers, chosen.refused) == (0, {"loader-2.num_workers": NOT_FOUND})


def test_the_same_line_is_the_same_place() -> None:
    source = SourceLine("DataLoader", shown="data/loaders.py", line=41, is_constructor=True)
    facts = LoaderFacts("loader-1", {}, None, dataset_type="Numbers", source=source)
    assert identity_of(facts) == Identity("data/loaders.py:41", None, "Numbers")
    watched = replace(source, is_constructor=False)
    assert identity_of(replace(facts, source=watched)).constructed_at is None


# What is refused


def refusals(override: Callable[..., Overrides], loader: Any, **settings: Any) -> dict[str, str]:
    before = made_by_init(loader)
    chosen = override(**settings)
    chosen.before_iter(loader)
    if not chosen.applied:
        assert made_by_init(loader) == before
    return chosen.refused


class Unsharded(IterableDataset[Tensor]):
    def __iter__(self) -> Iterator[Tensor]:
        return iter(torch.arange(8.0))


class Around(IterableDataset[Tensor]):
    """What it wraps may shard."""

    def __init__(self, inner: Any) -> None:
        self.inner = [inner]

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.inner[0])


def share_of_worker(length: int) -> range:
    info = get_worker_info()
    return range(info.id if info else 0, length, info.num_workers if info else 1)


class ByHelper(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(list(share_of_worker(8)))


def seed_worker(worker: int) -> None:
    pass


def test_an_iterable_data_set_that_does_not_shard_gets_no_more_workers(
    override: Callable[..., Overrides], said: list[str]
) -> None:
    loader = DataLoader(Unsharded())
    refused = refusals(override, loader, num_workers=2, prefetch_factor=4)
    assert "Unsharded does not ask get_worker_info()" in refused["num_workers"]
    assert refused["prefetch_factor"] == "the loader has no workers"
    assert len(said) == 2
    assert said[0].startswith("--set num_workers=2 is refused: Unsharded")
    assert sorted(map(float, loader)) == list(map(float, range(8)))


@pytest.mark.parametrize(
    ("dataset", "is_sharded"),
    [
        (Stream(), True),
        (ByHelper(), True),
        (Around(Stream()), True),
        (Unsharded(), False),
        (Around(Unsharded()), False),
    ],
)
def test_sharding_is_read_from_the_code(dataset: Any, is_sharded: bool) -> None:
    assert sharding_with(DataLoader(dataset), 2)[0] is is_sharded


def test_what_a_worker_init_function_does_is_not_known_from_the_code_but_of_a_data_set_that_divides() -> None:
    assert sharding_with(DataLoader(Unsharded(), worker_init_fn=seed_worker), 2)[0] is None
    assert sharding_with(DataLoader(Stream(), worker_init_fn=seed_worker), 2)[0] is True


def test_one_worker_loads_what_none_did_and_fewer_are_no_more(override: Callable[..., Overrides]) -> None:
    assert refusals(override, DataLoader(Unsharded()), num_workers=1) == {}
    assert refusals(override, DataLoader(Unsharded(), num_workers=3), num_workers=2) == {}


def test_a_datapipe_is_asked_for_its_sharding_filter() -> None:
    from torch.utils.data.datapipes.iter import IterableWrapper

    plain = IterableWrapper(range(8))
    is_sharded, why = sharding_with(DataLoader(plain), 2)
    assert is_sharded is False and "no sharding_filter" in (why or "")
    assert sharding_with(DataLoader(plain.sharding_filter()), 2)[0] is True


def test_pinning_needs_an_accelerator(override: Callable[..., Overrides], monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusals(override, shuffled(), pin_memory=True) == {"pin_memory": "there is no accelerator to copy to"}
    monkeypatch.setattr(overrides, "has_accelerator", lambda: True)
    assert refusals(override, shuffled(), pin_memory=True) == {}


def test_a_torch_without_in_order_says_so(override: Callable[..., Overrides]) -> None:
    loader = shuffled(num_workers=2)
    del loader.__dict__["in_order"]
    chosen = override(in_order=False)
    chosen.before_iter(loader)
    assert "no in_order, 2.6 has" in chosen.refused["in_order"]
    assert "in_order" not in vars(loader)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("prefetch_factor", 2), ("persistent_workers", True), ("in_order", False), ("threads_per_worker", 2)],
)
def test_what_says_nothing_without_workers_is_refused(
    setting: str, value: Value, override: Callable[..., Overrides]
) -> None:
    assert refusals(override, shuffled(), **{setting: value}) == {setting: "the loader has no workers"}
    assert refusals(override, shuffled(), num_workers=1, **{setting: value}) == {}


def test_without_workers_nothing_is_left_that_torch_would_refuse(override: Callable[..., Overrides]) -> None:
    loader = shuffled(num_workers=1, timeout=5, multiprocessing_context="fork", worker_init_fn=seed_worker)
    assert refusals(override, loader, num_workers=0) == {}
    assert len(list(loader)) == 6


class Endless(DataLoader[Any]):
    """Keeps one iterator for its life, as the YOLO code line's does."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        object.__setattr__(self, "kept", super().__iter__())

    def __iter__(self) -> Any:
        return self.kept  # type: ignore[attr-defined]


@pytest.mark.parametrize("make", [Endless, DataLoader])
def test_a_loader_that_keeps_an_iterator_is_left_alone(
    make: Any, override: Callable[..., Overrides], said: list[str]
) -> None:
    loader = make(Numbers(), shuffle=True, num_workers=1, persistent_workers=True)
    iterator = iter(loader)
    refused = refusals(override, loader, num_workers=2, pin_memory=False)
    assert refused == dict.fromkeys(
        ("num_workers", "pin_memory"), f"this {make.__name__} keeps an iterator that was created before"
    )
    assert len(said) == 2
    del iterator


def test_a_loader_that_was_iterated_without_gradients_is_left_alone(override: Callable[..., Overrides]) -> None:
    chosen, loader = override(num_workers=2), shuffled()
    with torch.no_grad():
        chosen.before_iter(loader)
    chosen.before_iter(loader)
    chosen.before_iter(loader)
    assert (loader.num_workers, chosen.applied) == (0, {})
    assert chosen.refused == {"num_workers": "the loader was iterated before, without gradients"}


class Fixed(DataLoader[Any]):
    @property
    def num_workers(self) -> int:
        return 1

    @num_workers.setter
    def num_workers(self, value: int) -> None:
        pass


def test_a_class_that_computes_a_setting_keeps_it(override: Callable[..., Overrides]) -> None:
    assert refusals(override, Fixed(Numbers(), shuffle=True), num_workers=2) == {
        "num_workers": "Fixed computes it itself"
    }


def test_a_report_that_fails_is_no_reason_to_stop(
    override: Callable[..., Overrides], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UNDERFED_STRICT")
    chosen, loader = override(num_workers=2), shuffled()
    chosen.changed = lambda: (_ for _ in ()).throw(OSError("the disk is full"))
    chosen.before_iter(loader)
    assert (loader.num_workers, chosen.applied) == (2, {"num_workers": 2})


class Odd:
    """Nothing that we know of a loader."""


def test_what_fails_in_us_is_refused_and_not_raised(override: Callable[..., Overrides], said: list[str]) -> None:
    chosen = override(num_workers=2)
    chosen.before_iter(Odd())
    assert "AttributeError" in chosen.refused["num_workers"]
    assert "AttributeError" in said[0]


def test_a_process_that_may_not_start_others_is_given_none() -> None:
    program = """
import multiprocessing, torch
from torch.utils.data import DataLoader
from underfed.trainer.settings.overrides import Overrides
def train():
    loader = DataLoader(range(8), shuffle=True)
    chosen = Overrides({"num_workers": 2}, print)
    chosen.before_iter(loader)
    print(len(list(loader)))
process = multiprocessing.get_context("fork").Process(target=train, daemon=True)
process.start(); process.join()
"""
    done = run_text(program)
    assert (done.returncode, done.stdout) == (
        0,
        "--set num_workers=2 is refused: this process may not start others\n8\n",
    )


# Threads in workers


def test_threads_are_for_the_workers_of_the_loader_that_got_them(override: Callable[..., Overrides]) -> None:
    chosen, train, val = override(threads_per_worker=3), shuffled(num_workers=1), DataLoader(Numbers(), num_workers=1)
    chosen.before_iter(train)
    assert (chosen.set_of(train), chosen.set_of(val)) == ({"threads_per_worker": 3}, {})
    assert chosen.applied == {"threads_per_worker": 3}


class Threads(Dataset[int]):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> int:
        apply_threads(2)
        return torch.get_num_threads()


def test_they_are_set_within_the_worker() -> None:
    before = torch.get_num_threads()
    assert [int(count) for count in DataLoader(Threads(), num_workers=1)] == [2]
    assert torch.get_num_threads() == before


def test_libraries_with_threads_of_their_own_get_as_many(tmp_path: Path) -> None:
    (tmp_path / "cv2.py").write_text("def setNumThreads(count): print('cv2', count)")
    (tmp_path / "pyarrow.py").write_text("def set_cpu_count(count): print('arrow', count)")
    (tmp_path / "threadpoolctl.py").write_text("def threadpool_limits(count): print('pools', count)")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from underfed.trainer.loading.worker import apply_threads\n"
        "apply_threads(1); import cv2, pyarrow; apply_threads(2)"
    )
    done = run_text(program)
    assert (done.returncode, done.stdout.splitlines()) == (0, ["pools 1", "cv2 2", "arrow 2", "pools 2"])
