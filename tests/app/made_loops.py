"""A training thread that uses several loaders, played on a clock of its own, and the windows that record it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.app.made_windows import RUN, made_window

HOST = {"cpu_count": 8, "usable_cores": 8.0, "cpu_slowdown": [[1, 1.0], [8, 1.0]]}


@dataclass
class _Step:
    epoch_index: int
    step_index: int
    batch_index: int
    start_us: int
    wait_us: int
    step_us: int | None = None
    is_pause: bool = False


@dataclass
class _Played:
    """What one loader did so far."""

    num_workers: int
    epochs: dict[int, dict[str, Any]] = field(default_factory=dict)
    ended: list[_Step] = field(default_factory=list)
    now: _Step | None = None
    asked: int = 0
    in_epoch: int = 0


class Thread:
    """Times in milliseconds. A step during which another loader begins an epoch is a pause, as the agent records it."""

    def __init__(self, run_id: str = "run-1", rank: int = 0, **num_workers: int) -> None:
        self.run_id, self.rank, self.now_us, self.windows = run_id, rank, 0, 0
        self.loaders = {name: _Played(number) for name, number in num_workers.items()}

    def begin(self, loader: str, *, constructing: float = 0.0, **seen: bool) -> None:
        """``iter(loader)``. ``seen``: of gradients."""
        played = self.loaders[loader]
        for other in self.loaders.values():
            if other.now is not None and other is not played:
                other.now.is_pause = True
        index = len(played.epochs)
        played.epochs[index] = {
            "loader": loader, "epoch_index": index, "start_us": self.now_us, "first_step_index": played.asked,
            "iterator_us": round(constructing * 1e3), **seen,
        }  # fmt: skip
        played.in_epoch = 0
        self.now_us += round(constructing * 1e3)

    def ask(self, loader: str, wait: float) -> None:
        """``next(iterator)``"""
        played = self.loaders[loader]
        self._end_step(played)
        epoch = played.epochs[len(played.epochs) - 1]
        wait_us = round(wait * 1e3)
        played.now = _Step(epoch["epoch_index"], played.asked, played.in_epoch, self.now_us, wait_us)
        played.asked, played.in_epoch = played.asked + 1, played.in_epoch + 1
        self.now_us += wait_us
        epoch.setdefault("startup_us", self.now_us - epoch["start_us"])

    def ask_through(self, outer: str, inner: str, wait: float, own: float) -> None:
        """A request of ``outer`` that waits for one of ``inner``, and takes half of ``own`` before and after it."""
        self.ask(outer, own / 2)
        self.ask(inner, wait)
        self.work(own / 2)
        asked = self.loaders[outer].now
        assert asked is not None
        asked.wait_us = self.now_us - asked.start_us

    def work(self, length: float) -> None:
        self.now_us += round(length * 1e3)

    def exhaust(self, loader: str, stopping: float = 0.0) -> None:
        """The request that finds no more."""
        played = self.loaders[loader]
        self._end_step(played)
        self.now_us += round(stopping * 1e3)
        epoch = played.epochs[len(played.epochs) - 1]
        epoch |= {
            "end_us": self.now_us,
            "ending_us": round(stopping * 1e3),
            "ended": "exhausted",
            "steps": played.in_epoch,
        }

    def run_through(self, loader: str, steps: int, wait: float, work: float, **begun: Any) -> None:
        """One epoch."""
        self.begin(loader, **begun)
        for _ in range(steps):
            self.ask(loader, wait)
            self.work(work)
        self.exhaust(loader)

    def window(self, **changes: Any) -> dict[str, Any]:
        """With all steps that ended since the last one."""
        steps: list[dict[str, Any]] = []
        batches: list[dict[str, Any]] = []
        for name, played in self.loaders.items():
            for piece in _pieces(played.ended):
                steps.append(_steps(name, piece))
                batches.append(_batches(name, piece, played.num_workers))
            played.ended.clear()
        epochs = [epoch for played in self.loaders.values() for epoch in played.epochs.values()]
        index, self.windows = self.windows, self.windows + 1
        window = made_window(index, run_id=self.run_id, rank=self.rank, end_us=max(self.now_us, 1_000_000 * index + 1))
        window |= {"start_us": 0, "steps": steps, "batches": batches, "epochs": epochs}
        if index == 0:
            settings = {name: {"num_workers": each.num_workers, "batch_size": 8} for name, each in self.loaders.items()}
            window["run"] = RUN | {"host": HOST, "not_measured": {}}
            window["loaders"] = [{"loader": name, "settings": each} for name, each in settings.items()]
        return window | changes

    def _end_step(self, played: _Played) -> None:
        if played.now is not None:
            step, played.now = played.now, None
            step.step_us = None if step.is_pause else self.now_us - step.start_us
            played.ended.append(step)


def zipped(thread: Thread, steps: int, work: float, **waits: float) -> None:
    """``for batches in zip(…)``, one epoch."""
    for loader in waits:
        thread.begin(loader)
    for _ in range(steps):
        for loader, wait in waits.items():
            thread.ask(loader, wait)
        thread.work(work)
    for loader in waits:
        thread.exhaust(loader)


def _pieces(steps: list[_Step]) -> list[list[_Step]]:
    """Consecutive steps of one epoch with no pause between them."""
    pieces: list[list[_Step]] = []
    for step in steps:
        before = pieces[-1][-1] if pieces else None
        if before is None or before.step_us is None or before.epoch_index != step.epoch_index:
            pieces.append([])
        pieces[-1].append(step)
    return pieces


def _steps(loader: str, piece: list[_Step]) -> dict[str, Any]:
    return {
        "loader": loader,
        "epoch_index": piece[0].epoch_index,
        "first_step_index": piece[0].step_index,
        "first_batch_index": piece[0].batch_index,
        "start_us": piece[0].start_us,
        "step_us": [step.step_us for step in piece],
        "data_wait_us": [step.wait_us for step in piece],
    }


def _batches(loader: str, piece: list[_Step], num_workers: int) -> dict[str, Any]:
    """All of the wait is a load that computes."""
    load = [step.wait_us for step in piece]
    return {
        "loader": loader,
        "epoch_index": piece[0].epoch_index,
        "batch_index": [step.batch_index for step in piece],
        "worker": [step.batch_index % num_workers for step in piece] if num_workers else None,
        "start_us": [step.start_us for step in piece],
        "load_us": load,
        "cpu_us": load,
        "runqueue_us": [0] * len(piece),
        "blocked_us": [0] * len(piece),
        "samples": [8] * len(piece),
        "received_us": [step.start_us + step.wait_us for step in piece],
    }
