"""Before an iterable data set gets more workers, two are compared; one that repeats records trains as it did before."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import psutil
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from tests.fakes.datasets import Stream, Unsharded
from tests.fakes.forkserver import python, start
from tests.fakes.jobs import environment, run_text
from tests.fakes.launching import others, own_lines, run_ready
from tests.fakes.service import Service, wait_until
from underfed.trainer.loading import compared_worker
from underfed.trainer.loading.record_digest import digest
from underfed.trainer.settings import sharding_check
from underfed.trainer.settings.overrides import Overrides
from underfed.trainer.settings.sharding import sharding_with
from underfed.trainer.settings.sharding_check import judge, judge_by_seed

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

LENGTH = 48


def is_mine(number: int, worker: int, workers: int) -> bool:
    return number % workers == worker


class Shared(IterableDataset[Tensor]):
    """Divided in a way that its code does not show."""

    def __iter__(self) -> Iterator[Tensor]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info is not None else (0, 1)
        for number in range(LENGTH):
            if is_mine(number, worker, workers):
                yield torch.full((32,), float(number))


class Repeating(IterableDataset[Tensor]):
    """Logs which worker of how many it is, and divides nothing."""

    started = 0

    def __iter__(self) -> Iterator[Tensor]:
        info = get_worker_info()
        print("worker", *(info.id, info.num_workers) if info is not None else ())
        self.started += 1
        return (self.record(number) for number in range(LENGTH))

    def record(self, number: int) -> Tensor:
        return torch.full((32,), number + 1.0)


class Masked(Repeating):
    """As trained on by language models: the same text, with other holes in each worker."""

    def record(self, number: int) -> Tensor:
        return super().record(number) * (torch.rand(32) < 0.8)


class Shuffled(Repeating):
    """By each worker for itself, in an order of its own."""

    def __iter__(self) -> Iterator[Tensor]:
        info = get_worker_info()
        order = list(range(LENGTH))
        random.Random(info.id * 1000 + info.num_workers if info is not None else 0).shuffle(order)
        return iter([self.record(number) for number in order])


class Numbered(Repeating):
    """Says in each record which worker it is from."""

    def record(self, number: int) -> Any:
        info = get_worker_info()
        return {"x": super().record(number), "worker": info.id if info is not None else -1, "at": time.time()}


class Alike(Repeating):
    def record(self, number: int) -> Tensor:
        return torch.zeros(32)


class ByClock(Repeating):
    """Loads other records each time it is started."""

    def record(self, number: int) -> Tensor:
        return torch.frombuffer(bytearray(os.urandom(32)), dtype=torch.uint8)


class Raising(Repeating):
    def record(self, number: int) -> Tensor:
        raise OSError("the store is away")


class Ending(Repeating):
    def record(self, number: int) -> Tensor:
        if get_worker_info() is not None:
            os._exit(3)
        return super().record(number)


class Slow(Repeating):
    def record(self, number: int) -> Tensor:
        if get_worker_info() is not None:
            time.sleep(60)
        return super().record(number)


class ForOne(Repeating):
    """Too few shards for a second worker."""

    def __iter__(self) -> Iterator[Tensor]:
        info = get_worker_info()
        return iter([] if info is not None and info.id % info.num_workers else super().__iter__())


class Ranged(IterableDataset[Tensor]):
    """As in the documentation of torch: a function divides it in each worker."""

    def __init__(self) -> None:
        self.numbers = range(LENGTH)

    def __iter__(self) -> Iterator[Tensor]:
        return (torch.full((32,), float(number)) for number in self.numbers)


def divide(worker: int) -> None:
    info = get_worker_info()
    assert info is not None
    info.dataset.numbers = range(worker, LENGTH, info.num_workers)  # type: ignore[attr-defined]


def seed(worker: int) -> None:
    random.seed(worker)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def override(said: list[str]) -> Callable[..., Overrides]:
    return lambda **settings: Overrides(settings, said.append)


@pytest.fixture(autouse=True)
def no_process_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sharding_check, "LIMIT_S", 600.0)  # a machine may be busy
    yield
    assert multiprocessing.active_children() == []


def records(loader: Any) -> list[float]:
    return sorted(float(batch.flatten()[0]) for batch in loader)


# What is applied


@pytest.mark.parametrize(
    ("dataset", "given"),
    [
        (Shared(), {}),
        (Shared(), {"num_workers": 1, "persistent_workers": True}),
        pytest.param(Shared(), {"num_workers": 1, "multiprocessing_context": "spawn"}, marks=pytest.mark.soak),
        (Ranged(), {"worker_init_fn": divide}),
    ],
)
def test_a_data_set_that_two_workers_share_gets_more_and_gives_each_record_once(
    dataset: Any, given: dict[str, Any], override: Callable[..., Overrides], said: list[str]
) -> None:
    loader = DataLoader(dataset, batch_size=1, **given)
    override(num_workers=2).before_iter(loader)
    assert loader.num_workers == 2
    assert records(loader) == [float(number) for number in range(LENGTH)]
    assert "refused" not in said[0]


@pytest.mark.parametrize("is_split", [True, False])
def test_stages_of_the_programs_own_in_a_pipeline_of_webdatasets_are_compared(
    is_split: bool, override: Callable[..., Overrides], tmp_path: Path
) -> None:
    from webdataset import DataPipeline, SimpleShardList, TarWriter, tarfile_to_samples

    shards = [str(tmp_path / f"{number}.tar") for number in range(4)]
    for number, shard in enumerate(shards):
        with TarWriter(shard) as writer:
            for sample in range(3):
                writer.write({"__key__": f"{number}{sample}", "text.txt": f"sample {sample} of shard {number}"})

    def split(source: Any) -> Any:
        info = get_worker_info()
        first, stride = (info.id, info.num_workers) if info is not None and is_split else (0, 1)
        return (shard for place, shard in enumerate(source) if place % stride == first)

    loader = DataLoader(DataPipeline(SimpleShardList(shards), split, tarfile_to_samples()), batch_size=None)
    override(num_workers=2).before_iter(loader)
    assert loader.num_workers == (2 if is_split else 0)
    if is_split:
        assert sorted(sample["text.txt"] for sample in loader) == sorted(
            f"sample {sample} of shard {number}".encode() for number in range(4) for sample in range(3)
        )


# What is refused


def open_here() -> int:
    """Without what earlier tests left, which is closed whenever it is collected."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


@dataclass(frozen=True)
class Case:
    dataset: Any
    why: str
    is_repeated: bool = True


CASES = {
    "equal": Case(Repeating(), "another one loads 48, too"),
    "augmented": Case(Masked(), "with the same random numbers"),
    "shuffled": Case(Shuffled(), "another one loads 48, too"),
    "numbered": Case(Numbered(), "another one loads 48, too"),
    "alike": Case(Alike(), "all alike", is_repeated=False),
    "new each time": Case(ByClock(), "started again loads other records", is_repeated=False),
    "raising": Case(Raising(), "OSError: the store is away", is_repeated=False),
    "ending": Case(Ending(), "ended with exit code 3", is_repeated=False),
    "for one": Case(ForOne(), "one loads nothing", is_repeated=False),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_does_not_show_that_workers_share_it_keeps_its_workers_and_says_why(
    case: Case, override: Callable[..., Overrides], said: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    chosen, loader = override(num_workers=3), DataLoader(case.dataset, batch_size=4)
    open_files = open_here()
    chosen.before_iter(loader)
    assert open_here() == open_files
    assert loader.num_workers == 0
    assert case.why in chosen.refused["num_workers"]
    assert case.why in said[0]
    assert chosen.sharding_of(loader) == (False if case.is_repeated else None, chosen.refused["num_workers"])
    assert capfd.readouterr() == ("", ""), "its processes print nothing"


def test_one_that_takes_too_long_is_refused_and_ended(
    override: Callable[..., Overrides], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharding_check, "LIMIT_S", 0.2)
    monkeypatch.setattr(sharding_check, "LEAVE_S", 0.0)
    chosen = override(num_workers=2)
    chosen.before_iter(DataLoader(Slow()))
    assert "within 0.2 seconds" in chosen.refused["num_workers"]


def test_a_function_that_only_seeds_its_worker_divides_nothing(override: Callable[..., Overrides]) -> None:
    chosen, loader = override(num_workers=2), DataLoader(Unsharded(), worker_init_fn=seed)
    chosen.before_iter(loader)
    assert "another one loads" in chosen.refused["num_workers"]


def test_what_cannot_be_sent_to_a_process_is_refused_before_torch_fails_on_it(
    override: Callable[..., Overrides],
) -> None:
    dataset = Shared()
    dataset.unsendable = lambda: None  # type: ignore[attr-defined]
    chosen, loader = override(num_workers=2), DataLoader(dataset, num_workers=1, multiprocessing_context="spawn")
    chosen.before_iter(loader)
    assert "could not be compared" in chosen.refused["num_workers"]
    assert loader.num_workers == 1


def test_ranks_which_might_not_agree_are_refused(
    override: Callable[..., Overrides], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    chosen = override(num_workers=2)
    chosen.before_iter(DataLoader(Shared()))
    assert "several ranks" in chosen.refused["num_workers"]


class NeverCounting(IterableDataset[Tensor]):
    def __iter__(self) -> Iterator[Tensor]:
        info = get_worker_info()
        return iter(torch.randperm(LENGTH, generator=torch.Generator().manual_seed(info.id if info else 0)))


def test_what_never_asks_how_many_workers_there_are_needs_no_process_to_be_refused(
    override: Callable[..., Overrides], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharding_check, "_load", lambda *_: pytest.fail("a process was started"))
    chosen = override(num_workers=2)
    chosen.before_iter(DataLoader(NeverCounting()))
    assert "never how many workers there are" in chosen.refused["num_workers"]


# What nobody notices


def test_the_training_process_is_as_if_nothing_had_been_compared(override: Callable[..., Overrides]) -> None:
    def trained(change: bool) -> Any:
        torch.manual_seed(3)
        numpy.random.seed(3)
        random.seed(3)
        dataset, generator = Masked(), torch.Generator().manual_seed(4)
        loader = DataLoader(dataset, batch_size=4, generator=generator)
        if change:
            override(num_workers=2).before_iter(loader)
        assert dataset.started == 0
        drawn = torch.rand(1).item(), numpy.random.rand(), random.random(), generator.get_state().tolist()
        return drawn, [batch.tolist() for batch in loader]

    assert trained(True) == trained(False)


def test_processes_of_the_training_keep_their_numbers(override: Callable[..., Overrides]) -> None:
    def number() -> int:
        return int(multiprocessing.get_context("fork").Process().name.rpartition("-")[2])

    before = number()
    override(num_workers=2).before_iter(DataLoader(Repeating()))
    assert number() == before + 1


def test_the_start_method_stays_open_for_the_program_to_choose() -> None:
    program = """
import multiprocessing
from torch.utils.data import DataLoader
from tests.agent.test_sharding_check import Repeating
from underfed.trainer.settings.sharding_check import check_sharding
print(check_sharding(DataLoader(Repeating()), 2)[0])
multiprocessing.set_start_method("spawn")
"""
    done = run_text(program)
    assert (done.returncode, done.stdout) == (0, "False\n")


def test_a_data_set_is_compared_once_in_a_run(
    override: Callable[..., Overrides], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def check(loader: Any, workers: int) -> Any:
        compared.append((type(loader.dataset), workers))
        return isinstance(loader.dataset, Shared), "it was so"

    monkeypatch.setattr("underfed.trainer.settings.verified_sharding.check_sharding", check)
    shared = Shared()
    for dataset in (shared, shared, Repeating(), Repeating()):
        chosen = override(num_workers=2)
        for _ in range(2):
            chosen.before_iter(DataLoader(dataset))
        assert len(compared) == 1
        compared.clear()


class Switched(Shared):
    """What its code divides by comes after a switch that is off."""

    divides = False

    def __iter__(self) -> Iterator[Tensor]:
        if not self.divides:
            return iter(torch.arange(float(LENGTH)))
        info = get_worker_info()
        assert info is not None
        return iter(torch.arange(float(LENGTH))[info.id :: info.num_workers])


class Drawn(Stream):
    """Divided, and augmented with random numbers that nobody seeds."""

    def __iter__(self) -> Iterator[Tensor]:
        return (number + torch.frombuffer(bytearray(os.urandom(8)), dtype=torch.uint8) for number in super().__iter__())


def test_where_the_code_divides_only_records_that_came_twice_are_a_refusal(override: Callable[..., Overrides]) -> None:
    assert [sharding_with(DataLoader(dataset), 2)[0] for dataset in (Switched(), Drawn())] == [True, True]
    chosen, loader = override(num_workers=2), DataLoader(Switched())
    chosen.before_iter(loader)
    assert "another one loads" in chosen.refused["num_workers"]
    drawn = override(num_workers=2)
    drawn.before_iter(DataLoader(Drawn()))
    assert drawn.applied == {"num_workers": 2}


def test_what_a_package_is_known_to_divide_is_not_compared(
    override: Callable[..., Overrides], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharding_check, "_load", lambda *_: pytest.fail("a process was started"))
    chosen = override(num_workers=2)
    known = type("StreamingDataset", (Stream,), {"__module__": "litdata.module"})
    chosen.before_iter(DataLoader(known()))
    assert chosen.applied == {"num_workers": 2}
    one = override(num_workers=1)
    one.before_iter(DataLoader(Repeating()))
    assert one.applied == {"num_workers": 1}, "one worker loads what none did"


class ImpatienceError(Exception):
    """Raised by a handler of the program."""


def test_what_a_signal_handler_raises_reaches_the_program_and_ends_the_processes(
    override: Callable[..., Overrides],
) -> None:
    def ring(_number: int, _frame: Any) -> None:
        raise ImpatienceError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(ImpatienceError):
            override(num_workers=2).before_iter(DataLoader(Slow()))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


COMPARING = """
import os, sys
os.setsid()
from torch.utils.data import DataLoader
from tests.agent.test_sharding_check import Overrides, Slow
class Noting(Slow):
    def record(self, number):
        open(sys.argv[1], "a").write("x")
        return super().record(number)
Overrides({"num_workers": 2}, print).before_iter(DataLoader(Noting()))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_training_that_is_ended_meanwhile_leaves_no_process_behind(number: signal.Signals, tmp_path: Path) -> None:
    started = tmp_path / "started"
    started.touch()
    training = start("tests.fakes.text", [COMPARING, str(started)], environment())
    wait_until(lambda: started.stat().st_size == 2, "two workers load")
    children = psutil.Process(training.pid).children()
    assert len(children) == 2
    # As a terminal does, to all.
    (os.killpg if number == signal.SIGINT else os.kill)(training.pid, number)
    _, error = training.communicate()
    assert training.returncode == -number
    assert error.count("KeyboardInterrupt") == (number == signal.SIGINT), "of the training alone"
    wait_until(lambda: not any(each.is_running() for each in children), "they end")


# A run


def program_of(kind: type[Any]) -> str:
    return (
        "from torch.utils.data import DataLoader\n"
        f"from tests.agent.test_sharding_check import {kind.__name__}\n"
        f"for batch in DataLoader({kind.__name__}(), batch_size=8):\n"
        "    print(batch.sum().item())\n"
    )


def trained_by(kind: type[Any]) -> tuple[str, ...]:
    return python(), "-c", program_of(kind)


def test_a_run_says_and_records_that_its_data_set_is_not_shared_out(service: Service) -> None:
    bare = run_text(program_of(Repeating), UNDERFED_DISABLED="1")
    assert bare.returncode == 0, bare.stderr
    done = run_ready("--set", "num_workers=2", "--", *trained_by(Repeating))
    assert (done.returncode, done.stdout.decode()) == (0, bare.stdout)
    assert any("refused: of 48 records" in line for line in own_lines(done.stderr))
    wait_until(service.ends, "the end arrives")
    (run,) = [window["run"] for window in service.windows if "run" in window][-1:]
    assert "another one loads 48" in run["not_measured"]["set:num_workers"]
    (loader,) = service.loaders().values()
    assert loader["shards"] is False
    assert "another one loads 48" in loader["why_unsharded"]
    assert "shards" not in loader["not_measured"]


def test_a_training_fails_as_it_would_have(service: Service) -> None:
    bare = subprocess.run(trained_by(Raising), check=False, capture_output=True)
    done = run_ready("--set", "num_workers=2", "--", *trained_by(Raising))
    assert (done.returncode, done.stdout, others(done.stderr)) == (1, bare.stdout, bare.stderr)
    assert any("OSError: the store is away" in line for line in own_lines(done.stderr))
    wait_until(service.ends, "the end arrives")


# What is judged


@pytest.mark.parametrize(
    ("first", "second", "shards"),
    [
        ("abcd", "efgh", "unknown"),
        ("abcd", "hgfd", False),
        ("a.b..cd", "e.f..gh", "unknown"),
        ("a.b..cd", "e.d..gh", False),
        ("abcabcabc", "dbedbedbe", False),
        ("a", "b", "unknown"),
        ("aaaa", "bbbb", None),
        ("aaaa", "bcde", None),
        ("abcd", "", None),
        ("", "", None),
    ],
)
def test_two_workers_are_judged_by_what_came_twice(first: str, second: str, shards: Any) -> None:
    found = judge([each.encode() for each in first], [each.encode() for each in second])
    assert (found[0] if found is not None else "unknown") is shards


@pytest.mark.parametrize(
    ("first", "again", "same_seed", "shards"),
    [
        ("abcd", "abcd", "efgh", True),
        ("abcd", "badc", "bcda", True),
        ("abcd", "abcd", "abcx", False),
        ("abcdefgh", "abcd", "abxd", False),
        ("abcd", "wxyz", "efgh", None),
    ],
)
def test_random_numbers_are_distinguished_from_shares(first: str, again: str, same_seed: str, shards: Any) -> None:
    letters = [[each.encode() for each in records] for records in (first, again, same_seed)]
    assert judge_by_seed(*letters)[0] is shards


@dataclass
class Pair:
    image: Tensor
    label: int


@pytest.mark.parametrize(
    ("record", "other"),
    [
        (torch.ones(8), torch.zeros(8)),
        (torch.ones(2, 4), torch.ones(4, 2)),
        (torch.ones(8, dtype=torch.bfloat16), torch.zeros(8, dtype=torch.bfloat16)),
        (torch.ones(8).to_sparse(), torch.zeros(8).to_sparse()),
        (torch.tensor(1.0), torch.tensor(2.0)),
        (numpy.arange(8), numpy.arange(1, 9)),
        (numpy.array([{"a": 1}]), numpy.array([{"a": 2}])),
        ({"text": "one", "label": 1}, {"text": "two", "label": 1}),
        ({"ids": [1, 2, 3]}, {"ids": [1, 2, 4]}),
        ((b"one", 1), (b"two", 1)),
        ([[1.5, [torch.ones(4)]]], [[1.5, [torch.zeros(4)]]]),
        (Pair(torch.ones(4), 1), Pair(torch.zeros(4), 1)),
        (7, 8),
        ("", "\ud800"),
    ],
)
def test_records_are_compared_by_their_content(record: Any, other: Any) -> None:
    assert digest(record) != digest(other)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(600.0).reshape(20, 30).T,
        lambda: Pair(torch.ones(4), 1),
        lambda: {"pairs": [Pair(torch.ones(4), 1)], "set": {1}},
    ],
)
def test_equal_records_have_the_same_digest_wherever_they_lie(make: Callable[[], Any]) -> None:
    kept = make()
    assert digest(make()) == digest(kept)


def test_a_number_beside_content_is_no_difference() -> None:
    assert digest({"x": torch.ones(8), "worker": 0}) == digest({"x": torch.ones(8), "worker": 1})


def test_of_a_slow_data_set_two_batches_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compared_worker, "_become_worker", lambda *_: None)
    taken, part = iter(range(1000)), compared_worker.Part(0, 2, 1)
    assert len(compared_worker._first_digests(compared_worker.Source(taken, None, 8), part)) == 256
    monkeypatch.setattr(compared_worker, "ENOUGH_S", 0.0)
    assert len(compared_worker._first_digests(compared_worker.Source(taken, None, 8), part)) == 16
    assert next(taken) == 256 + 16, "no more is taken of it"
