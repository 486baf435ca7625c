"""``--replay``: N real batches, the same ones again at once, and then the end with what that gained."""

from __future__ import annotations

import gc
import threading
from collections import UserDict, namedtuple
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from tests.fakes.datasets import Numbers
from tests.fakes.jobs import run_text
from underfed.exchange import launch
from underfed.trainer.replay import BLOCKS, ENOUGH, Replay, own_containers, read_replay, steps_per_s

MS = 1_000_000
Pair = namedtuple("Pair", "image label")


class Clock:
    """In nanoseconds, moved by hand."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


class Program:
    """A training loop that calls what the hooks call, where they call it."""

    def __init__(self, batches: int, real_ms: float = 30, instant_ms: float = 10) -> None:
        self.clock = Clock()
        self.said: list[str] = []
        self.replay = Replay(batches, self.said.append, self.clock)
        self.wait_ms, self.work_ms = real_ms - instant_ms, instant_ms
        self.loads = 0

    def iterate(self, loader: DataLoader[Any]) -> Iterator[Any]:
        self.replay.before_iter(loader)
        iterator = iter(loader)
        self.replay.adopt(iterator, loader)
        while True:
            batch = self.replay.instead(iterator)
            if batch is None:
                try:
                    batch = next(iterator)
                except StopIteration:
                    return
                self.loads += 1
                self.clock.now_ns += int(self.wait_ms * MS)
                self.replay.loaded(iterator, batch)
            yield batch
            self.clock.now_ns += int(self.work_ms * MS)

    def train(self, loader: DataLoader[Any], epochs: int = 1) -> list[Any]:
        seen = []
        for _ in range(epochs):
            for batch in self.iterate(loader):
                seen.append(batch)
        return seen

    def train_to_the_end(self, loader: DataLoader[Any], epochs: int = 100) -> list[Any]:
        seen = []
        with pytest.raises(SystemExit) as ended:
            for _ in range(epochs):
                for batch in self.iterate(loader):
                    seen.append(batch)
        assert ended.value.code == 0
        return seen


@pytest.fixture(autouse=True)
def quiet_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replays of tests say nothing when pytest ends."""
    monkeypatch.setattr("underfed.trainer.replay.atexit.register", lambda call: call)


def shuffled(length: int = 24, **arguments: Any) -> DataLoader[Any]:
    return DataLoader(Numbers(length), batch_size=4, shuffle=True, **arguments)


def test_the_same_batches_come_again_and_then_the_program_ends() -> None:
    program = Program(3)
    seen = program.train_to_the_end(shuffled())
    assert len(seen) == 6
    assert all(again is first for first, again in zip(seen[:3], seen[3:], strict=True))
    assert program.loads == 3


def test_what_it_gained_is_said_in_one_line() -> None:
    program = Program(ENOUGH, real_ms=30, instant_ms=10)
    program.train_to_the_end(shuffled(), epochs=10)
    assert program.replay.result is not None
    assert program.replay.result.speedup == pytest.approx(3)
    assert program.said == [
        "replay of 20 batches: 33.3 steps/s with real data, 100 with instant data: 3.00 times as fast"
    ]


def test_thousands_of_steps_a_second_are_written_in_full() -> None:
    program = Program(ENOUGH, real_ms=1, instant_ms=0.5)
    program.train_to_the_end(shuffled(), epochs=10)
    assert "1,000 steps/s with real data, 2,000 with instant data" in program.said[0]


def test_too_few_steps_are_said_to_show_nothing() -> None:
    program = Program(5)
    program.train_to_the_end(shuffled())
    assert program.said[0].endswith("; 5 steps are too few to tell, take 20 or more")


def test_more_batches_than_an_epoch_has_are_taken_from_the_next() -> None:
    program = Program(10)
    seen = program.train_to_the_end(shuffled())
    assert (len(seen), program.loads) == (20, 10)


def test_the_time_between_epochs_moves_no_rate() -> None:
    program = Program(60, real_ms=20, instant_ms=20)
    loader = shuffled()
    with pytest.raises(SystemExit):
        while True:
            for _ in program.iterate(loader):
                pass
            program.clock.now_ns += 50 * MS if program.loads == 18 else 0
    assert program.replay.result is not None
    assert program.replay.result.speedup == pytest.approx(1)


def test_a_wait_with_every_fourth_batch_counts_in_full() -> None:
    """As four workers make it that deliver all at once. A median of steps would show none."""
    requests, now = [0], 0
    for step in range(64):
        now += (50 if step % 4 == 0 else 10) * MS
        requests.append(now)
    assert steps_per_s(requests) == pytest.approx(50)


def test_one_long_pause_counts_for_nothing() -> None:
    requests, now = [0], 0
    for step in range(8 * BLOCKS):
        now += (60_000 if step == 7 else 20) * MS
        requests.append(now)
    assert steps_per_s(requests) == pytest.approx(50)


def test_our_own_time_is_not_the_steps() -> None:
    program = Program(30, real_ms=20, instant_ms=20)
    kept = program.replay.loaded

    def slow(iterator: Any, batch: Any) -> None:
        class Moving(Clock):
            def __call__(self) -> int:
                program.clock.now_ns += 40 * MS
                return program.clock.now_ns

        program.replay._now = Moving()
        kept(iterator, batch)
        program.replay._now = program.clock
        program.clock.now_ns -= 40 * MS  # the first reading came before our own time

    program.replay.loaded = slow  # type: ignore[method-assign]
    program.train_to_the_end(shuffled(), epochs=10)
    assert program.replay.result is not None
    assert program.replay.result.speedup == pytest.approx(1)


def test_validation_is_left_alone() -> None:
    program, val = Program(4), DataLoader(Numbers(12), batch_size=4)
    seen = 0
    with pytest.raises(SystemExit):
        while True:
            for number, _ in enumerate(program.iterate(shuffled())):
                if number == 1:
                    break
            with torch.no_grad():
                assert len(list(program.iterate(val))) == 3
            seen += 1
    assert seen == 4


def test_a_loader_that_is_created_again_continues_the_last_one() -> None:
    program = Program(8)
    seen = 0
    with pytest.raises(SystemExit):
        while True:
            loader = shuffled(12)
            for _ in program.iterate(loader):
                seen += 1
            del loader
            gc.collect()
    assert (seen, program.loads) == (16, 8)


def test_two_loaders_are_fed_their_own_batches() -> None:
    """As for a training on labelled and unlabelled data."""
    program = Program(4)
    labelled, unlabelled = shuffled(80), DataLoader(Numbers(80), batch_size=2, shuffle=True)
    seen = []
    with pytest.raises(SystemExit):
        for pair in zip(program.iterate(labelled), program.iterate(unlabelled), strict=False):
            seen.append(pair)
    assert len(seen) == 8
    assert all(len(left) == 4 and len(right) == 2 for left, right in seen)
    assert all(
        one is other
        for first, again in zip(seen[:4], seen[4:], strict=True)
        for one, other in zip(first, again, strict=True)
    )


@pytest.mark.parametrize("persistent", [False, True])
def test_while_batches_come_again_nothing_is_loaded(persistent: bool) -> None:
    program, loader = Program(6), shuffled(num_workers=1, persistent_workers=persistent, timeout=30)
    for number, _ in enumerate(program.iterate(loader), start=1):
        if number == 6:
            break
    for _ in program.iterate(loader):
        assert loader.num_workers == 0
        break
    assert program.loads == 6


def test_batches_out_of_shared_memory_are_kept_elsewhere() -> None:
    """There is little of it, and the workers need it."""
    program = Program(3)
    seen = program.train_to_the_end(shuffled(num_workers=1))
    assert all(batch.is_shared() for batch in seen[:3])
    assert not any(batch.is_shared() for batch in seen[3:])
    assert all(torch.equal(first, again) for first, again in zip(seen[:3], seen[3:], strict=True))


def test_what_a_program_takes_out_of_its_batch_is_there_again() -> None:
    tensor = torch.zeros(2)
    batch: dict[str, Any] = {
        "image": tensor,
        "rest": [tensor, (tensor, "label")],
        "pair": Pair(tensor, 1),
        "more": UserDict(x=tensor),
    }
    kept = own_containers(batch)
    batch.pop("image")
    batch["rest"].clear()
    batch["more"].clear()
    assert kept["image"] is kept["rest"][1][0] is kept["pair"].image is kept["more"]["x"] is tensor
    assert (type(kept["rest"][1]), type(kept["pair"]), type(kept["more"])) == (tuple, Pair, UserDict)


def test_what_is_missing_is_said_where_a_program_ends_before() -> None:
    program = Program(50)
    program.train(shuffled())
    program.replay._say_what_is_missing()
    assert program.said == ["--replay 50: the program ended after 6 of the 100 steps it takes"]


def test_a_loop_in_another_thread_is_refused() -> None:
    """The end of a thread would not be the end of its program."""
    program = Program(2)
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(len(program.train(shuffled()))))
    thread.start()
    thread.join()
    assert seen == [6]
    assert program.said == ["--replay is refused: the program takes its batches in a thread of its own"]
    assert program.replay.refused == "the program takes its batches in a thread of its own"


def test_a_forked_child_goes_its_own_way() -> None:
    program = """
import os
from torch.utils.data import DataLoader
from underfed.trainer.replay import Replay
replay = Replay(1, print)
loader = DataLoader(range(8), shuffle=True)
replay.before_iter(loader); iterator = iter(loader); replay.adopt(iterator, loader)
replay.instead(iterator); replay.loaded(iterator, next(iterator))
assert replay.instead(iterator) is not None
if os.fork() == 0:
    assert replay.instead(iterator) is None and len(list(iterator)) == 7
    raise SystemExit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
"""
    done = run_text(program)
    assert (done.returncode, done.stdout) == (0, "--replay 1: the program ended after 2 of the 2 steps it takes\n")


def test_a_child_that_is_forked_before_begins_itself() -> None:
    program = """
import os
from torch.utils.data import DataLoader
from underfed.trainer.replay import Replay
replay = Replay(2, print)
if os.fork() == 0:
    loader = DataLoader(range(8), shuffle=True)
    replay.before_iter(loader); iterator = iter(loader); replay.adopt(iterator, loader)
    while True:
        batch = replay.instead(iterator)
        if batch is None:
            replay.loaded(iterator, next(iterator))
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
"""
    done = run_text(program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("replay of 2 batches: ")


def test_nothing_is_replayed_unless_asked_for() -> None:
    assert read_replay({}, print) is None
    asked = read_replay({launch.REPLAY: "7"}, print)
    assert asked is not None
    assert asked.batches == 7
