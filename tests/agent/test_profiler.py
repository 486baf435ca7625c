"""With ``--profile`` the training process is looked at too: where it loads itself, and between its batches."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

import underfed
from tests.fakes.service import Service, wait_until
from underfed.exchange.guard import Guard
from underfed.host.clock import now_ns
from underfed.trainer.hooks.profiler import Profiler, _Seen
from underfed.trainer.loading.bursts import Bursts
from underfed.trainer.loading.caught_stack import caught_after
from underfed.trainer.loading.seen_code import SeenCode
from underfed.trainer.loading.slow_samples import SlowSamples
from underfed.trainer.loading.stack_sampler import StackSampler

Seen = set[tuple[str, str, str]]
"""Loader, innermost function that is Python's, and stage."""


@pytest.fixture
def profiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_PROFILE", "1")
    monkeypatch.setenv("UNDERFED_STACKS", "always")


class Sleeping(Dataset[Tensor]):
    def __len__(self) -> int:
        return 400

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.4 if index == 133 else 0.002)
        return torch.zeros(1)


def slow_collate(samples: list[Tensor]) -> Tensor:
    time.sleep(0.02)
    return torch.stack(samples)


def save_checkpoint() -> None:
    time.sleep(0.02)


def validate() -> None:
    time.sleep(0.02)


def windows_of(service: Service) -> dict[str, dict[str, Any]]:
    """By loader, the newest that was sent of its stacks."""
    return {each["loader"]: each for window in list(service.windows) for each in window.get("stacks", [])}


def functions(service: Service) -> Seen:
    found: Seen = set()
    for loader, sent in windows_of(service).items():
        for stack in sent["stacks"]:
            names = [sent["frames"][place]["function"] for place in stack["frames"]]
            found |= {(loader, name, stack["stage"]) for name in names}
    return found


def train(
    service: Service, loader: DataLoader[Any], is_enough: Callable[[], bool], after_pass: Callable[[], object] = int
) -> None:
    watched = underfed.watch(loader, name="train")
    deadline = time.monotonic() + 120
    while not is_enough():
        for _ in watched:
            save_checkpoint()
            if is_enough():
                break
        else:  # of a pass that is left what follows counts
            after_pass()
        assert time.monotonic() < deadline, functions(service)
    underfed.finish()
    wait_until(service.ends, "the end arrives")


@pytest.mark.usefixtures("profiled")
def test_a_loader_without_workers_is_looked_at_and_so_is_the_step(service: Service) -> None:
    loading = {("train", "slow_collate", "collate"), ("train", "Sleeping.__getitem__", "getitem")}
    wanted = {*loading, ("train", "save_checkpoint", "step"), ("train", "train", "step")}
    if sys.version_info < (3, 11):
        wanted = {(loader, name.removeprefix("Sleeping."), stage) for loader, name, stage in wanted}
    loader = DataLoader(Sleeping(), batch_size=4, collate_fn=slow_collate)
    train(service, loader, lambda: wanted <= functions(service))
    found = functions(service)
    assert {name for _, name, stage in found if stage in ("getitem", "collate")} & {"train", "fetch"} == set()
    assert {stage for _, name, stage in found if name in ("save_checkpoint", "slow_collate")} == {"step", "collate"}


@pytest.mark.usefixtures("profiled")
def test_waiting_for_workers_is_no_step_and_what_follows_a_pass_is_none_either(service: Service) -> None:
    wanted = {("train", "save_checkpoint", "step")}
    loader = DataLoader(Sleeping(), batch_size=8, num_workers=1)
    train(service, loader, lambda: wanted <= functions(service) and has_validated.is_set(), after_pass)
    steps = {name for _, name, stage in functions(service) if stage == "step"}
    assert [name for _, name, _ in functions(service) if name.endswith("_get_data")] == []
    assert [name for name in steps if name.endswith(("validate", "_next_data", "__next__"))] == []


class Ending:
    """A loader whose pass ends while it is looked at: at the first look between batches."""

    index = 0
    profiler: Profiler
    given = 0

    @property
    def steps(self) -> int:
        given, self.given = self.given, 7
        if not given and self.profiler._seen:
            self.profiler.pass_ended(self)  # type: ignore[arg-type]
        return 7


def test_a_pass_that_ends_while_it_is_looked_at_has_ended(tmp_path: Path) -> None:
    profiler, loader = Profiler(tmp_path, Guard(), is_always=True), Ending()
    loader.profiler = profiler
    code = SeenCode(tmp_path / "loader-0.stacks")
    profiler._seen[0] = _Seen(loader, code, SlowSamples(code.seen), steps=6)  # type: ignore[arg-type]
    go = threading.Event()
    trains = threading.Thread(target=go.wait)
    trains.start()
    profiler.ident = trains.ident or 0
    bursts = Bursts(now_ns(), is_always=True)
    bursts.begin()
    for _ in range(3):
        profiler.look(now_ns(), now_ns(), *caught_after(0.0, profiler.ident, profiler.state), bursts)
    bursts.end()
    go.set()
    trains.join()
    assert not code._looks, "what follows the pass is no step of it"


has_validated = threading.Event()


def after_pass() -> None:
    has_validated.set()
    for _ in range(20):
        validate()


@pytest.mark.usefixtures("profiled")
def test_a_slow_sample_is_reported_without_workers(service: Service) -> None:
    def slowest() -> list[dict[str, Any]]:
        return [each for each in windows_of(service).get("train", {}).get("slow_samples", []) if each["index"] == 133]

    train(service, DataLoader(Sleeping(), batch_size=8), lambda: bool(slowest()))
    assert slowest()[-1]["load_us"] > 300_000


class SlowSampler(Sampler[int]):
    def __len__(self) -> int:
        return 400

    def __iter__(self) -> Iterator[int]:
        for index in range(400):
            time.sleep(0.002)
            yield index


@pytest.mark.usefixtures("profiled")
def test_the_sampler_of_a_loader_with_workers_is_looked_at(service: Service) -> None:
    name = "SlowSampler.__iter__" if sys.version_info >= (3, 11) else "__iter__"
    loader = DataLoader(Sleeping(), batch_size=4, num_workers=1, sampler=SlowSampler())
    train(service, loader, lambda: ("train", name, "other") in functions(service))
    assert {stage for _, function, stage in functions(service) if function == name} == {"other"}


class ChoosesAtOnce(Sampler[int]):
    """As a permutation of many: before the first index is there, which workers are given as a pass begins."""

    def __len__(self) -> int:
        return 400

    def __iter__(self) -> Iterator[int]:
        self.choose()
        yield from range(400)

    def choose(self) -> None:
        time.sleep(0.1)


class Buckets(Sampler[list[int]]):
    """Has all batches before it is iterated."""

    def __len__(self) -> int:
        return 100

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.choose())

    def choose(self) -> list[list[int]]:
        time.sleep(0.1)
        return [list(range(first, first + 4)) for first in range(0, 400, 4)]


@pytest.mark.usefixtures("profiled")
@pytest.mark.parametrize("is_persistent", [False, True])
@pytest.mark.parametrize(
    "chosen", [{"sampler": ChoosesAtOnce(), "batch_size": 4}, {"batch_sampler": Buckets()}], ids=["sampler", "buckets"]
)
def test_a_sampler_that_chooses_as_a_pass_begins_is_looked_at(
    service: Service, chosen: dict[str, Any], is_persistent: bool
) -> None:
    kind = next(type(each).__name__ for each in chosen.values() if isinstance(each, Sampler))
    name = f"{kind}.choose" if sys.version_info >= (3, 11) else "choose"
    loader = DataLoader(Sleeping(), num_workers=1, persistent_workers=is_persistent, **chosen)
    train(service, loader, lambda: ("train", name, "other") in functions(service))
    others = {name for _, name, stage in functions(service) if stage == "other"}
    assert not others & {"_MultiProcessingDataLoaderIter.__init__", "Popen._launch", "train", "_launch"}


class Outer(Dataset[Tensor]):
    """Iterates a loader itself."""

    def __len__(self) -> int:
        return 400

    def __getitem__(self, index: int) -> Tensor:
        return self.inner()

    def inner(self) -> Tensor:
        batch: Tensor = next(iter(DataLoader(Sleeping(), batch_size=2)))
        return batch


@pytest.mark.usefixtures("profiled")
def test_of_a_loader_within_a_data_set_the_outer_one_is_reported(service: Service) -> None:
    inner = "Outer.inner" if sys.version_info >= (3, 11) else "inner"
    train(service, DataLoader(Outer(), batch_size=4), lambda: ("train", inner, "getitem") in functions(service))
    stacks = windows_of(service)["train"]
    outermost = {
        stacks["frames"][stack["frames"][0]]["line"]
        for stack in stacks["stacks"]
        if stack["stage"] == "getitem" and stack["frames"]
    }
    first = Outer.__getitem__.__code__.co_firstlineno
    assert outermost <= {first, first + 1}


class Threads(Dataset[Tensor]):
    """Gives how many threads this process has, by the kernel."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Tensor:
        return torch.tensor(len(list(Path("/proc/self/task").iterdir())))


@pytest.mark.skipif(sys.platform != "linux", reason="counted in /proc")
def test_without_it_the_training_process_gets_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    # A service of the test's would have threads in this process, too.
    monkeypatch.setenv("UNDERFED_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("UNDERFED_LINGER_S", "0")
    monkeypatch.setenv("UNDERFED_STACKS", "always")
    loader = DataLoader(Threads(), batch_size=4)
    bare = {int(count) for batch in loader for count in batch}
    started: list[StackSampler] = []
    monkeypatch.setattr(StackSampler, "start", started.append)
    assert {int(count) for batch in underfed.watch(loader) for count in batch} == bare
    assert started == []


@pytest.mark.usefixtures("service")
def test_without_stacks_it_looks_at_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_PROFILE", "1")
    monkeypatch.setenv("UNDERFED_STACKS", "0")
    started: list[StackSampler] = []
    monkeypatch.setattr(StackSampler, "start", started.append)
    for _ in underfed.watch(DataLoader(Threads(), batch_size=4)):
        pass
    assert started == []


class Drawing(Dataset[Tensor]):
    def __len__(self) -> int:
        return 200

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.001)
        return torch.rand(2)


def thread_names() -> list[str]:
    """Without those in which the test's service answers."""
    return [thread.name for thread in threading.enumerate() if "process_request" not in thread.name]


@pytest.mark.usefixtures("service")
def test_a_program_gets_the_same_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    def batches(loader: DataLoader[Tensor]) -> list[list[float]]:
        torch.manual_seed(7)
        return [batch.flatten().tolist() for _ in range(2) for batch in loader]

    bare = batches(DataLoader(Drawing(), batch_size=8, shuffle=True))
    before_s, names = sys.getswitchinterval(), thread_names()
    monkeypatch.setenv("UNDERFED_PROFILE", "1")
    monkeypatch.setenv("UNDERFED_STACKS", "always")
    assert batches(underfed.watch(DataLoader(Drawing(), batch_size=8, shuffle=True))) == bare
    assert thread_names() == names
    underfed.finish()
    assert sys.getswitchinterval() == before_s
