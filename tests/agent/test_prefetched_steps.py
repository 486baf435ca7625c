"""What is recorded of a prefetched loader: the consumer's steps, and its copies as far as they were not hidden."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import underfed
from tests.fakes.datasets import Numbers
from tests.fakes.machine import Machine, Worked
from tests.fakes.service import Service, wait_until
from tests.fakes.streams import Events, LiveDevice, stand_for_cuda
from tests.fakes.tensors import SimulatedStreams, SimulatedTensor
from underfed.exchange import ring_format
from underfed.exchange.guard import Guard
from underfed.exchange.ring import RingReader
from underfed.exchange.ring_format import NOT_MEASURED, unpack_request
from underfed.trainer.device.device_clock import DeviceClock
from underfed.trainer.hooks import watched_loader
from underfed.trainer.hooks.session import Session, open_session
from underfed.trainer.hooks.watched_loader import WatchedLoader
from underfed.trainer.prefetcher.passes import Pass

SETTLED = 5


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr("underfed.trainer.prefetcher.copy_stream._free_streams", {})
    return Machine()


@dataclass
class Seen:
    """Of one step."""

    entered_ns: int
    left_ns: int
    depth: int
    is_timed: bool
    batch_index: int
    idle_ns: int | None = None
    copy_ns: int | None = None
    exposed_ns: int | None = None


class Watched:
    """A watched loader with workers, in virtual time, and what is recorded of it."""

    def __init__(self, machine: Machine, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (directory / "rings").mkdir()
        monkeypatch.setattr("underfed.trainer.prefetcher.prefetched_steps.now_ns", lambda: machine.device.now)
        self.machine = machine
        monkeypatch.setattr(watched_loader, "device_reason", lambda: None)
        monkeypatch.setattr(watched_loader, "open_device_clock", lambda ring: DeviceClock(ring, Events(machine.device)))
        monkeypatch.setattr(watched_loader, "ensure_collector", lambda *_: None)
        self.loader = WatchedLoader(0, "train", directory / "rings", Guard(), lambda: None)

    def open(self, finished_ms: list[float]) -> Worked:
        worked = Worked(self.machine, finished_ms)
        session = open_session(self.loader)
        worked.__dict__["_underfed"] = session
        session.constructed(worked, sees_arrivals=True, constructed_ns=0)
        return worked

    def records(self) -> list[Seen]:
        """After another pass has come by, which reads what the device got to."""
        self.machine.device.host(1e6)
        list(self.machine.prefetch([self.machine.memory.tensor(0)]))
        (path,) = (self.loader.directory).iterdir()
        reader = RingReader(path)
        reader.mark()
        steps: dict[int, Seen] = {}
        ends = 0
        for head, *values in reader.drain():
            match head & ring_format.KIND_MASK:
                case ring_format.STEP:
                    depth, is_timed, _ = unpack_request(values[2])
                    steps[values[4]] = Seen(values[0], values[1], depth, is_timed, values[3])
                case ring_format.DEVICE:
                    steps[values[0]].idle_ns = values[1]
                case ring_format.COPY:
                    steps[values[0]].copy_ns, steps[values[0]].exposed_ns = values[1:3]
                case ring_format.EXHAUSTED:
                    ends += 1
        assert sorted(steps) == list(range(len(steps)))
        assert ends == 1
        return list(steps.values())


@pytest.fixture
def watched(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(machine, tmp_path, monkeypatch)


def steady(steps: list[Seen], what: str) -> float:
    """Its mean in milliseconds."""
    values = [getattr(step, what) for step in steps[SETTLED:-1]]
    known = [value for value in values if value not in (None, NOT_MEASURED)]
    assert known
    return float(sum(known) / len(known) / 1e6)


def test_a_copy_beside_long_work_is_hidden(machine: Machine, watched: Watched) -> None:
    worked = watched.open([0.0] * 30)
    machine.train(machine.prefetch(worked), 10.0, sync=True)
    steps = watched.records()
    assert [step.batch_index for step in steps] == list(range(30))
    assert steady(steps, "copy_ns") == pytest.approx(2.0, rel=0.05)
    assert steady(steps, "exposed_ns") == pytest.approx(0.0, abs=0.02)
    assert steady(steps, "idle_ns") == pytest.approx(0.0, abs=0.02)


def test_a_copy_longer_than_the_work_shows_by_the_rest(machine: Machine, watched: Watched) -> None:
    machine.memory.copy_ms = 12.0
    worked = watched.open([0.0] * 30)
    machine.train(machine.prefetch(worked), 5.0)
    steps = watched.records()
    assert steady(steps, "copy_ns") == pytest.approx(12.0, rel=0.05)
    assert steady(steps, "exposed_ns") == pytest.approx(7.0, rel=0.05)


def test_the_time_of_a_transform_is_no_copy(machine: Machine, watched: Watched) -> None:
    def transform(batch: SimulatedTensor) -> SimulatedTensor:
        machine.device.work(6.0)
        return batch

    worked = watched.open([0.0] * 30)
    machine.train(machine.prefetch(worked, transform), 3.0)
    steps = watched.records()
    assert steady(steps, "copy_ns") == pytest.approx(2.0, rel=0.05)
    assert steady(steps, "exposed_ns") == pytest.approx(0.0, abs=0.02), "the wait is for the transform alone"


def test_waiting_for_workers_is_idle_time_and_no_copy_time(machine: Machine, watched: Watched) -> None:
    worked = watched.open([20.0 * number for number in range(40)])
    machine.train(machine.prefetch(worked), 5.0, sync=True)
    steps = watched.records()
    waits = [(step.left_ns - step.entered_ns) / 1e6 for step in steps[SETTLED:-1]]
    # Of 20 ms: the copy is waited for by the work, and the work by the host.
    assert sum(waits) / len(waits) == pytest.approx(13.0, rel=0.05)
    assert steady(steps, "idle_ns") == pytest.approx(15.0, rel=0.05), "the wait, and the copy after it"
    assert steady(steps, "copy_ns") == pytest.approx(2.0, rel=0.05)
    assert steady(steps, "exposed_ns") == pytest.approx(2.0, rel=0.05)
    assert {step.depth for step in steps[SETTLED:-1]} == {0}
    assert all(step.is_timed for step in steps)


def test_a_batch_already_fetched_is_no_empty_queue(machine: Machine, watched: Watched) -> None:
    worked = watched.open([0.0, 0.0, 100.0, 100.0])
    prefetched = machine.prefetch(worked)
    for _ in prefetched:
        machine.device.host(1.0)
    del prefetched
    assert [step.depth for step in watched.records()] == [2, 1, 0, 1]


def test_a_request_that_cannot_block_is_timed_as_a_sample_only(machine: Machine, watched: Watched) -> None:
    worked = watched.open([0.0] * 40)
    machine.train(machine.prefetch(worked), 5.0, sync=True)
    assert [step for step, seen in enumerate(watched.records()) if seen.is_timed] == [0, 17, 34]


def test_steps_are_the_consumers_and_not_our_looking_ahead(machine: Machine, watched: Watched) -> None:
    worked = watched.open([0.0] * 10)
    asked = []
    prefetched = machine.prefetch(worked)
    for _ in range(10):
        asked.append(machine.device.now)
        next(prefetched)
        machine.device.host(7.0)
    asked.append(machine.device.now)
    with pytest.raises(StopIteration):
        next(prefetched)
    prefetched.close()
    assert [step.entered_ns for step in watched.records()] == asked[:10]


def test_an_iterator_that_is_no_longer_prefetched_reports_its_steps_itself(machine: Machine, watched: Watched) -> None:
    worked = watched.open([0.0] * 4)
    prefetched = machine.prefetch(worked)
    next(prefetched)
    session: Session = worked.__dict__["_underfed"]

    def reports_and_times() -> tuple[bool, bool]:
        return not session.is_passive, session.device is not None

    assert reports_and_times() == (False, False), "its own requests are not the consumer's"
    prefetched.close()
    assert reports_and_times() == (True, True)


def test_a_failure_of_ours_ends_the_recording_and_not_the_training(
    machine: Machine, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise OSError("no ring")

    worked = watched.open([0.0] * 10)
    prefetched = machine.prefetch(worked)
    next(prefetched)
    monkeypatch.setattr(watched.loader.guard, "is_strict", False, raising=False)
    monkeypatch.setattr("underfed.trainer.hooks.session.pack_request", failing)
    assert machine.train(prefetched, 1.0) == list(range(1, 10))
    assert watched.loader.guard.failures == 1


# The whole way: a real loader and its workers, a device in real time, the collector and a service.

COPY_MS = 12.0


class Cargo:
    """A batch of a real worker, whose copy takes a simulated device its time."""

    device: LiveDevice

    def __init__(self, samples: list[torch.Tensor]) -> None:
        self.number = int(samples[0][0])

    def to(self, target: Any) -> Cargo:
        self.device.work(COPY_MS)
        return self

    def record_stream(self, stream: Any) -> None:
        pass


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> LiveDevice:
    Cargo.device = LiveDevice()
    stand_for_cuda(monkeypatch, Cargo.device)
    return Cargo.device


def recorded(service: Service, live: LiveDevice, load_s: float, work_ms: float) -> dict[str, list[Any]]:
    """Columns of the steps of three epochs of 20 batches."""
    dataset = Numbers(40, load_s)
    loader = underfed.watch(DataLoader(dataset, batch_size=2, num_workers=2, collate_fn=Cargo), name="train")
    numbers = []
    for _ in range(3):
        for batch in Pass(iter(loader), SimulatedStreams(live), None):
            numbers.append(batch.number)
            live.work(work_ms)
            live.synchronize()
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert numbers == list(range(0, 40, 2)) * 3
    assert service.count_steps() == 60
    assert service.windows[-1]["losses"]["agent_errors"] == 0
    names = ("data_wait_us", "gpu_idle_us", "h2d_us", "h2d_exposed_us")
    # A column is absent where none of its rows is measured.
    return {
        name: [value for part in service.steps() for value in part.get(name, [None] * len(part["step_us"]))]
        for name in names
    }


def known_median(values: list[Any]) -> float:
    return float(median(value for value in values if value is not None))


def test_each_step_arrives_with_its_copy(service: Service, live: LiveDevice) -> None:
    columns = recorded(service, live, load_s=0.0, work_ms=5.0)
    assert {len(column) for column in columns.values()} == {60}
    assert min(copy_us for copy_us in columns["h2d_us"] if copy_us is not None) >= 0


@pytest.mark.soak(passes=2, of=3)
def test_the_copies_of_a_fed_device_arrive_as_hidden(service: Service, live: LiveDevice) -> None:
    columns = recorded(service, live, load_s=0.0, work_ms=30.0)
    copy_us = known_median(columns["h2d_us"])
    assert copy_us == pytest.approx(1000 * COPY_MS, rel=0.2)
    assert known_median(columns["h2d_exposed_us"]) < 0.3 * copy_us
    assert columns["gpu_idle_us"].count(None) > 30, "most steps found a batch and could not block"


@pytest.mark.soak(passes=2, of=3)
def test_the_idle_time_of_a_starved_device_arrives(service: Service, live: LiveDevice) -> None:
    columns = recorded(service, live, load_s=0.05, work_ms=1.0)
    copy_us = known_median(columns["h2d_us"])
    # A host that is preempted between launching a copy and handing out its batch hides a part of it.
    assert known_median(columns["h2d_exposed_us"]) > 0.3 * copy_us
    waited = [(idle, wait) for idle, wait in zip(columns["gpu_idle_us"], columns["data_wait_us"], strict=True) if idle]
    assert len(waited) > 10
    after_us = known_median([idle - wait for idle, wait in waited])
    assert 0.3 * copy_us < after_us < 1.5 * copy_us, "idle in the wait, and in the copy after it"


class Crates:
    """An iterable of batches that is no DataLoader."""

    def __iter__(self) -> Iterator[Cargo]:
        for number in range(20):
            time.sleep(0.01)
            yield Cargo([torch.tensor([number])])


def test_what_is_no_dataloader_is_prefetched_and_watched_at_once(service: Service, live: LiveDevice) -> None:
    watched = underfed.watch(Crates(), name="train")
    for _ in range(2):
        for number, batch in enumerate(Pass(iter(watched), SimulatedStreams(live), None)):
            assert batch.number == number
            live.work(5.0)
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert service.count_steps() == 40, "one is fetched ahead, and still each is reported once"
    assert [epoch["steps"] for epoch in service.epochs().values()] == [20, 20]
    copies = [value for part in service.steps() for value in part.get("h2d_us", []) if value is not None]
    assert len(copies) > 30
