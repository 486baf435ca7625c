"""An error comes as it would without the agent: same type, text and traceback, line for line, and same afterwards."""

from __future__ import annotations

import functools
import multiprocessing
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, SequentialSampler

from tests.agent.indistinguishable.twice import Loader, Zeros, assert_same, report, text

UNTIL_IT_WAITS_S = 0.5
"""Then the training process has taken what was there, and waits for the batch that will not come."""


def outline(act: Callable[[], Any]) -> list[str]:
    """Of an error that a signal brings about: the lines down to torch's waiting; where within, chance decides."""
    try:
        act()
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        waiting = next((at for at, frame in enumerate(frames) if frame.name == "_try_get_data"), len(frames))
        lines = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[:waiting]]
        return [*lines, re.sub(r"\d+", "", text(error)), type(error.__cause__).__name__]
    return ["no error"]


class Failing(Dataset[Tensor]):
    """Does something at index 9."""

    def __init__(self, fail: Callable[[], None]) -> None:
        self.fail = fail

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> Tensor:
        if index == 9:
            self.fail()
        return torch.zeros(1)


class FailingStream(IterableDataset[Tensor]):
    def __iter__(self) -> Iterator[Tensor]:
        yield torch.zeros(1)
        raise ValueError("the stream broke off")


class FailingSampler(SequentialSampler):
    def __iter__(self) -> Iterator[int]:
        yield from range(9)
        raise ValueError("the sampler is at its end")


def refuse() -> None:
    try:
        os.environ["NO_SUCH_VARIABLE"]
    except KeyError as error:
        raise ValueError("sample 9 is broken") from error


def refuse_without_a_word() -> None:
    raise StopIteration


def break_collate(samples: list[Tensor]) -> Tensor:
    return torch.stack([*samples, torch.zeros(2)])


def break_start(worker: int) -> None:
    raise RuntimeError(f"worker {worker} does not like it here")


def wait() -> None:
    time.sleep(2)


def interrupt_oneself() -> None:
    raise KeyboardInterrupt


def interrupt_parent() -> None:
    time.sleep(UNTIL_IT_WAITS_S)
    training = multiprocessing.parent_process()
    assert training is not None and training.pid is not None
    os.kill(training.pid, signal.SIGINT)
    time.sleep(5)


def die() -> None:
    time.sleep(UNTIL_IT_WAITS_S)
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    time.sleep(UNTIL_IT_WAITS_S)
    os._exit(3)


def give_up() -> None:
    time.sleep(UNTIL_IT_WAITS_S)
    sys.exit(4)


def until_an_error(loader: Loader) -> Iterator[str]:
    """What every request gives, from the first to the fifth after an error, or to the end."""
    requests: list[str] = []
    iterator: Iterator[Any] = iter([])

    def begin() -> None:
        nonlocal iterator
        iterator = iter(loader)

    yield report(begin)
    while len(requests) < 5:
        reported = report(functools.partial(next, iterator))
        yield reported
        if requests or not reported.startswith("no error"):
            requests.append(reported)
        if "StopIteration" in reported:
            break
    # torch waits five seconds for each worker of an iterator that an exception keeps alive.
    for worker in getattr(iterator, "_workers", ()):
        worker.terminate()


FAILURES: dict[str, Callable[[], dict[str, Any]]] = {
    "data set": lambda: {"batch_size": 4, "dataset": Failing(refuse)},
    "data set raises StopIteration": lambda: {"batch_size": 4, "dataset": Failing(refuse_without_a_word)},
    "stream": lambda: {"batch_size": 4, "dataset": FailingStream()},
    "collate": lambda: {"batch_size": 4, "dataset": Zeros(), "collate_fn": break_collate},
    "sampler": lambda: {"batch_size": 4, "dataset": Zeros(), "sampler": FailingSampler(Zeros())},
    "batch sampler": lambda: {"dataset": Zeros(), "batch_sampler": FailingSampler(Zeros())},
    "worker start": lambda: {"batch_size": 4, "dataset": Zeros(), "worker_init_fn": break_start},
    "no such sample": lambda: {"batch_size": 4, "dataset": [1, 2, 3], "sampler": [0, 1, 5]},
    "nothing to iterate": lambda: {"batch_size": 4, "dataset": Zeros(), "sampler": 3},
}


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("settings", FAILURES.values(), ids=FAILURES.keys())
def test_tracebacks_are_the_same_line_for_line(settings: Callable[[], dict[str, Any]], num_workers: int) -> None:
    """By one worker, since with two it depends on who is first through which line of torch an error comes."""

    def make() -> Loader:
        chosen = settings()
        return DataLoader(num_workers=num_workers, **chosen)

    seen = assert_same(make, lambda loader: list(until_an_error(loader)))
    assert any("Traceback" in each for each in seen) or settings is FAILURES["worker start"]
    assert not any("underfed/" in each for each in seen)


def test_a_timeout_has_the_same_traceback() -> None:
    def see(loader: Loader) -> str:
        iterator = iter(loader)
        reported = report(lambda: [next(iterator) for _ in range(9)])
        for worker in iterator._workers:  # type: ignore[attr-defined]
            worker.terminate()
        return reported

    seen = assert_same(lambda: DataLoader(Failing(wait), num_workers=1, batch_size=4, timeout=0.5), see)
    assert "timed out" in seen


@pytest.mark.parametrize(
    ("end", "word"),
    [
        (die, "RuntimeError"),
        (leave, "RuntimeError"),
        (give_up, "RuntimeError"),
        (interrupt_parent, "KeyboardInterrupt"),
    ],
)
def test_a_worker_that_dies_and_an_interrupt_while_waiting_are_reported_the_same(
    end: Callable[[], None], word: str
) -> None:
    def see(loader: Loader) -> list[str]:
        iterator = iter(loader)
        reported = outline(lambda: [next(iterator) for _ in range(9)])
        for worker in iterator._workers:  # type: ignore[attr-defined]
            worker.terminate()
        return reported

    seen = assert_same(lambda: DataLoader(Failing(end), num_workers=1, batch_size=4), see)
    assert any(word in line for line in seen)


def test_an_interrupt_while_loading_has_the_same_traceback() -> None:
    seen = assert_same(
        lambda: DataLoader(Failing(interrupt_oneself), batch_size=4), lambda loader: list(until_an_error(loader))
    )
    assert any("KeyboardInterrupt" in each for each in seen)
