"""The device clock against simulated streams: what it measures, what it leaves alone, and how it fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import torch

from tests.fakes import streams
from tests.fakes.streams import LATENCY_NS, Device, Events, Stream, ns
from underfed.exchange import ring_format, run_files
from underfed.exchange.guard import Guard
from underfed.exchange.ring import RingReader, RingWriter
from underfed.exchange.ring_format import NOT_MEASURED
from underfed.trainer.device import cuda
from underfed.trainer.device import device_clock as hook
from underfed.trainer.device.device_clock import PAIRS, SAMPLED, DeviceClock
from underfed.trainer.hooks.session import open_session
from underfed.trainer.hooks.watched_loader import WatchedLoader

SETTLED = 5
"""The first steps of a loop run differently: the device has nothing to do yet."""


@dataclass(frozen=True)
class Timed:
    idle_ns: int
    work_ns: int


class Loop:
    """A training loop on a simulated device, and what was recorded of it."""

    def __init__(self, directory: Path) -> None:
        self.device = Device()
        self.ring = RingWriter(directory / "steps.ring", 4096)
        self.reader = RingReader(directory / "steps.ring")
        self.clock = DeviceClock(self.ring, Events(self.device))
        self.device.host(1.0)  # what the events were made with is done
        self.steps = 0
        self.idle_ns: list[int] = []
        """The truth: in each wait, how long the device had no work."""

    def next(self, wait_ms: float, must: bool = True) -> bool:
        self.clock.entered(self.steps, must)
        entered = self.device.now
        self.device.host(wait_ms)
        self.idle_ns.append(self.device.idle_ns(entered, self.device.now))
        is_timed = self.clock.left()
        self.clock.poll()
        self.steps += 1
        return is_timed

    def run(self, steps: int, wait_ms: float, work_ms: float, host_ms: float = 0.1, sync: bool = False) -> None:
        for _ in range(steps):
            self.next(wait_ms)
            self.device.host(host_ms)
            self.device.work(work_ms)
            if sync:
                self.device.synchronize()

    def finish(self) -> dict[int, Timed]:
        """What is recorded once the device has come to an end."""
        self.device.host(10_000)
        self.clock.entered(1 + SAMPLED * self.steps, must=False)  # no sample: what was last waits for no follower
        for _ in range(PAIRS):
            self.clock.poll()
        self.reader.mark()
        kinds = [(each[0] & ring_format.KIND_MASK, each[1], Timed(each[2], each[3])) for each in self.reader.drain()]
        assert {kind for kind, _, _ in kinds} <= {ring_format.DEVICE}
        assert len({step for _, step, _ in kinds}) == len(kinds), "a step is reported once"
        return {step: timed for _, step, timed in kinds}


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    return Loop(tmp_path)


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("host_ms", [0.1, 8.0, 25.0])
@pytest.mark.parametrize("work_ms", [2.0, 10.0])
@pytest.mark.parametrize("wait_ms", [0.05, 5.0, 30.0])
def test_idle_is_what_the_device_missed_during_the_wait(
    loop: Loop, wait_ms: float, work_ms: float, host_ms: float, sync: bool
) -> None:
    loop.run(40, wait_ms, work_ms, host_ms, sync)
    measured = loop.finish()
    assert sorted(measured) == list(range(40))
    for step in range(SETTLED, 40):
        assert measured[step].idle_ns == pytest.approx(loop.idle_ns[step], abs=2 * LATENCY_NS)


@pytest.mark.parametrize("stall_ms", [5.0, 20.0, 50.0])
def test_a_stall_of_a_drained_device_is_measured_as_long_as_it_was(loop: Loop, stall_ms: float) -> None:
    loop.run(30, stall_ms, work_ms=10.0, sync=True)
    measured = loop.finish()
    assert mean(measured[step].idle_ns for step in range(SETTLED, 30)) == pytest.approx(ns(stall_ms), rel=0.05)


@pytest.mark.parametrize("stall_ms", [15.0, 20.0, 50.0])
def test_of_a_stall_that_outlasts_the_work_only_the_rest_is_idle(loop: Loop, stall_ms: float) -> None:
    loop.run(30, stall_ms, work_ms=10.0)
    measured = loop.finish()
    idle_ns = mean(measured[step].idle_ns for step in range(SETTLED, 30))
    assert idle_ns == pytest.approx(ns(stall_ms - 10.0), rel=0.05)


@pytest.mark.parametrize("wait_ms", [0.1, 3.0, 9.5])
def test_a_wait_that_work_hides_is_no_stall(loop: Loop, wait_ms: float) -> None:
    loop.run(30, wait_ms, work_ms=10.0)
    measured = loop.finish()
    assert max(measured[step].idle_ns for step in range(SETTLED, 30)) <= 2 * LATENCY_NS


def test_the_work_of_a_step_is_seen_where_the_host_runs_ahead(loop: Loop) -> None:
    for work_ms in (4.0, 6.0, 8.0, 5.0):
        loop.next(0.5)
        loop.device.work(work_ms)
    loop.next(0.5)
    measured = loop.finish()
    works_ms = [measured[step].work_ns / 1e6 for step in range(4)]
    assert works_ms == pytest.approx([4.0, 6.0, 8.0, 5.0], abs=0.05)
    assert measured[4].work_ns == NOT_MEASURED, "nothing shows when it ended"


def test_the_work_of_a_step_is_seen_though_the_wait_before_it_was_complete_long_ago(loop: Loop) -> None:
    for step in range(10):
        loop.clock.entered(step, must=True)
        loop.device.host(20.0)
        loop.clock.left()
        loop.device.host(0.1)
        loop.clock.poll()
        loop.device.work(3.0)
    loop.steps = 10
    measured = loop.finish()
    assert [measured[step].work_ns / 1e6 for step in range(9)] == pytest.approx([3.0] * 9, rel=0.05)


def test_the_work_of_a_step_is_not_measured_where_the_device_was_done_before_the_next(loop: Loop) -> None:
    loop.run(10, wait_ms=2.0, work_ms=5.0, host_ms=0.1, sync=True)
    assert {timed.work_ns for timed in loop.finish().values()} == {NOT_MEASURED}


def test_the_work_of_a_step_is_not_measured_across_steps_that_were_not_timed(loop: Loop) -> None:
    for _ in range(3 * SAMPLED):
        loop.next(0.1, must=False)
        loop.device.work(5.0)
    measured = loop.finish()
    assert sorted(measured) == [0, SAMPLED, 2 * SAMPLED]
    assert {timed.work_ns for timed in measured.values()} == {NOT_MEASURED}


def test_a_request_that_gave_no_batch_is_not_reported(loop: Loop) -> None:
    loop.next(1.0)
    for _ in range(3 * PAIRS):
        loop.clock.entered(1, must=True)
    loop.next(2.0)
    measured = loop.finish()
    assert sorted(measured) == [0, 1]
    assert measured[1].idle_ns == pytest.approx(ns(2.0), abs=2 * LATENCY_NS)
    assert loop.clock.dropped == 0


def test_nothing_is_recorded_or_asked_while_a_graph_is_captured(loop: Loop) -> None:
    loop.run(3, 1.0, 5.0)
    with loop.device.capturing():
        assert not loop.next(1.0)
    loop.clock.entered(loop.steps, must=True)
    with loop.device.capturing():
        assert not loop.clock.left()
    loop.steps += 1
    assert not loop.device.capture_is_broken
    assert loop.next(1.0), "after the capture it goes on"
    assert sorted(loop.finish()) == [0, 1, 2, 5]
    assert loop.clock.reason is None


def test_a_stream_that_was_changed_within_next_gives_no_measurement(loop: Loop) -> None:
    loop.next(1.0)
    other = Stream(loop.device)
    loop.clock.entered(loop.steps, must=True)
    loop.device.current = other
    assert not loop.clock.left()
    loop.device.current = loop.device.default
    loop.steps += 1
    loop.next(1.0)
    assert sorted(loop.finish()) == [0, 2]


def test_work_is_not_measured_across_a_change_of_streams(loop: Loop) -> None:
    loop.device.current = Stream(loop.device)
    loop.next(0.5)
    loop.device.work(5.0)
    loop.device.current = Stream(loop.device)
    loop.device.work(5.0)
    loop.next(0.5)
    assert loop.finish()[0].work_ns == NOT_MEASURED


def test_a_training_in_a_stream_of_its_own_is_measured_there(loop: Loop) -> None:
    loop.device.current = Stream(loop.device)
    loop.run(20, wait_ms=5.0, work_ms=20.0)
    measured = loop.finish()
    assert max(measured[step].idle_ns for step in range(SETTLED, 20)) <= 2 * LATENCY_NS


def test_a_device_that_lags_behind_costs_measurements_and_nothing_else(loop: Loop) -> None:
    loop.run(PAIRS + 20, wait_ms=0.1, work_ms=1000.0)
    assert loop.clock.dropped == 20
    made = loop.device.events
    loop.device.host(PAIRS * 2000.0)
    for _ in range(PAIRS):
        loop.clock.poll()
    loop.run(5, wait_ms=1.0, work_ms=1.0, sync=True)
    assert loop.device.events == made == 2 * PAIRS
    assert sorted(loop.finish()) == [*range(PAIRS), *range(PAIRS + 20, PAIRS + 25)]


def test_a_poll_asks_at_most_two_events_and_one_where_the_oldest_is_not_there(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop.run(10, wait_ms=0.1, work_ms=100.0)
    asked: list[bool] = []
    query = streams.Event.query

    def counting(event: streams.Event) -> bool:
        asked.append(query(event))
        return asked[-1]

    # elapsed_time() of the simulation asks too, that of CUDA does not.
    monkeypatch.setattr(streams.Event, "elapsed_time", lambda begin, end: (end.at - begin.at) / 1e6)
    monkeypatch.setattr(streams.Event, "query", counting)
    loop.clock.poll()
    assert asked == [False]
    loop.device.host(10_000)
    loop.clock.poll()
    assert asked == [False, True, True]


def test_the_host_never_waits_for_the_device(loop: Loop) -> None:
    loop.run(20, wait_ms=1.0, work_ms=500.0)
    loop.finish()
    assert loop.device.synchronizations == 0


@pytest.mark.parametrize("where", ["entered", "left", "poll"])
def test_an_error_of_the_device_ends_the_clock_and_reaches_nobody(loop: Loop, where: str) -> None:
    loop.run(4, wait_ms=1.0, work_ms=500.0)
    if where != "entered":
        loop.clock.entered(4, must=True)
    if where == "poll":
        loop.clock.left()
    loop.device.error = "CUDA error: an illegal memory access was encountered\nCompile with …"
    calls: dict[str, Callable[[], Any]] = {
        "entered": lambda: loop.clock.entered(4, must=True),
        "left": loop.clock.left,
        "poll": loop.clock.poll,
    }
    calls[where]()
    assert loop.clock.errors == 1
    assert loop.clock.reason == "the device failed: RuntimeError: CUDA error: an illegal memory access was encountered"
    assert not loop.next(1.0)
    assert loop.clock.errors == 1
    reported = loop.finish()
    assert sorted(reported) == list(range(4 + (where == "poll"))), "what is waited for is reported"
    assert set(reported.values()) == {Timed(NOT_MEASURED, NOT_MEASURED)}


def test_a_device_that_fails_at_once_gives_a_stopped_clock(tmp_path: Path) -> None:
    device = Device()
    device.error = "CUDA error: out of memory"
    clock = DeviceClock(RingWriter(tmp_path / "ring", 64), Events(device))
    assert clock.reason == "the device failed: RuntimeError: CUDA error: out of memory"
    assert not clock.entered(0, must=True)


def test_the_loaders_of_a_process_share_a_devices_events(tmp_path: Path) -> None:
    device = Device()
    source = Events(device)
    train = DeviceClock(RingWriter(tmp_path / "train", 64), source)
    validate = DeviceClock(RingWriter(tmp_path / "validate", 64), source)
    for step in range(PAIRS):
        (train if step % 2 else validate).entered(step, must=True)
        (train if step % 2 else validate).left()
    assert not train.entered(PAIRS, must=True)
    assert (train.dropped, validate.dropped, device.events) == (1, 0, 2 * PAIRS)


# A user's own prefetcher, as NVIDIA's Apex has it in its examples.


class DataPrefetcher:
    """Copies the next batch in a stream of its own while the model works. ``inside``: it also draws it there."""

    def __init__(self, loop: Loop, load_ms: float, copy_ms: float, inside: bool) -> None:
        self.loop, self.load_ms, self.copy_ms, self.inside = loop, load_ms, copy_ms, inside
        self.stream = Stream(loop.device)
        self.preload()

    def preload(self) -> None:
        with self.loop.device.on(self.stream if self.inside else self.loop.device.default):
            self.loop.next(self.load_ms)
        self.loop.device.work(self.copy_ms, self.stream)

    def next(self) -> None:
        self.loop.device.current.wait_stream(self.stream)
        self.preload()


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(("load_ms", "idle_ms"), [(2.0, 0.0), (9.0, 0.0), (30.0, 20.0)])
def test_of_a_users_own_prefetcher_only_the_wait_that_shows_is_a_stall(
    loop: Loop, load_ms: float, idle_ms: float, inside: bool
) -> None:
    prefetcher = DataPrefetcher(loop, load_ms, copy_ms=3.0, inside=inside)
    for _ in range(30):
        prefetcher.next()
        loop.device.work(10.0)
    measured = loop.finish()
    idle = mean(measured[step].idle_ns for step in range(SETTLED, 30)) / 1e6
    assert idle == pytest.approx(idle_ms, rel=0.05, abs=0.02)
    assert sum(timed.idle_ns for timed in measured.values()) <= loop.device.now


# Which device it is, on a machine that has none: torch's names, answered by the simulation.


@pytest.fixture
def torch_cuda(monkeypatch: pytest.MonkeyPatch) -> Device:
    device = Device()
    streams.stand_for_cuda(monkeypatch, device)
    return device


def test_a_torch_without_a_device_says_so() -> None:
    assert hook.device_reason() == "this PyTorch is built without a device: judged on the host's clock"


def test_without_torch_there_is_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    assert hook.device_reason() == "PyTorch is not loaded"


def test_a_mac_is_judged_on_the_hosts_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.backends.mps.is_built", lambda: True)
    assert hook.device_reason() == "MPS has no event pairs we trust: judged on the host's clock"


def test_an_intel_gpu_is_judged_on_the_hosts_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch._C._has_xpu", True)
    assert hook.device_reason() == "XPU has no event pairs we trust: judged on the host's clock"


@pytest.mark.parametrize("kind", ["cuda", "hip"])
def test_a_device_that_is_not_in_use_is_not_even_looked_for(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(*_: object) -> None:
        raise AssertionError("this loads a driver")

    monkeypatch.setattr(f"torch.version.{kind}", "12.8")
    for name in ("_lazy_init", "is_available", "device_count", "current_device", "current_stream", "memory_allocated"):
        monkeypatch.setattr(f"torch.cuda.{name}", touched)
    assert hook.device_reason() == "no CUDA device is in use by this process: judged on the host's clock"
    assert hook.open_device_clock(RingWriter(tmp_path / "ring", 64)) is None


def test_a_device_without_a_tensor_is_left_alone(torch_cuda: Device, tmp_path: Path) -> None:
    torch_cuda.contexts = {0: 0}
    assert hook.device_reason() == "no CUDA device is in use by this process: judged on the host's clock"
    torch_cuda.contexts = {}
    assert hook.open_device_clock(RingWriter(tmp_path / "ring", 64)) is None
    assert torch_cuda.events == 0


def test_a_device_may_come_into_use_later(torch_cuda: Device, tmp_path: Path) -> None:
    torch_cuda.contexts = {}
    assert hook.device_reason() is not None
    torch_cuda.contexts = {0: 1 << 20}
    assert hook.device_reason() is None
    clock = hook.open_device_clock(RingWriter(tmp_path / "ring", 64))
    assert clock is not None
    assert clock.entered(0, must=True)
    assert clock.left()


def test_the_only_device_with_tensors_is_watched_where_another_is_the_current_one(torch_cuda: Device) -> None:
    torch_cuda.contexts = {0: 0, 1: 1 << 20}
    assert hook.device_reason() is None
    assert cuda.find_device(torch) == (1, None)
    torch_cuda.contexts = {1: 1 << 20, 2: 1 << 20}
    assert hook.device_reason() == (
        "this process uses several CUDA devices, and none of them is the current one: judged on the host's clock"
    )


def test_an_allocator_that_keeps_no_figures_counts_as_use(torch_cuda: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(device: int) -> int:
        raise RuntimeError("this allocator does not yet support getDeviceStats")

    monkeypatch.setattr("torch.cuda.memory_allocated", unsupported)
    torch_cuda.contexts = {0: 0}
    assert hook.device_reason() is None


def test_a_torch_without_a_name_we_need_says_which(torch_cuda: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("torch._C._cuda_hasPrimaryContext")
    reason = hook.device_reason()
    assert reason is not None
    assert "has no _cuda_hasPrimaryContext as we know it" in reason


def test_a_device_that_fails_when_asked_is_a_reason(torch_cuda: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> int:
        raise RuntimeError("CUDA error: unspecified launch failure")

    monkeypatch.setattr("torch.cuda.current_device", failing)
    assert hook.device_reason() == "the device failed: RuntimeError: CUDA error: unspecified launch failure"


def test_another_thread_leaves_the_device_alone(torch_cuda: Device, tmp_path: Path) -> None:
    clock = hook.open_device_clock(RingWriter(tmp_path / "ring", 64))
    assert clock is not None
    assert in_a_thread(lambda: clock.entered(0, must=True)) is False
    assert in_a_thread(hook.device_reason) == (
        "batches are taken outside the main thread, where a graph capture cannot be seen: judged on the host's clock"
    )


def test_a_step_with_another_device_made_current_is_not_timed(torch_cuda: Device, tmp_path: Path) -> None:
    clock = hook.open_device_clock(RingWriter(tmp_path / "ring", 64))
    assert clock is not None
    torch_cuda.current_index = 1
    assert not clock.entered(0, must=True)
    torch_cuda.current_index = 0
    assert clock.entered(1, must=True)
    torch_cuda.current_index = 1
    assert not clock.left()


def test_the_current_stream_is_followed_without_making_an_object_each_time(torch_cuda: Device) -> None:
    source = cuda.source_of(torch, torch_cuda.current_index)
    first = source.stream()
    assert source.stream() is first is source.default
    torch_cuda.current = Stream(torch_cuda)
    assert source.stream() is torch_cuda.current


def in_a_thread(function: Callable[[], Any]) -> Any:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


@pytest.mark.parametrize(("has_workers", "least_ns"), [(False, 1_200), (True, 2_400)])
def test_without_a_device_our_own_time_is_more_than_lies_between_our_readings_of_the_clock(
    tmp_path: Path, *, has_workers: bool, least_ns: int
) -> None:
    session = open_session(WatchedLoader(0, "train", tmp_path, Guard(), lambda: None))
    session.has_workers = has_workers
    session.began_ns, session.looked_ns = 900, 1_000
    session.end_inspection(torch.zeros(1), 0, entered_ns=1_600, left_ns=50_000, done_ns=50_600)
    reader = RingReader(run_files.step_ring(tmp_path, 0))
    reader.mark()
    (overhead_ns,) = [each[1] for each in reader.drain() if each[0] & ring_format.KIND_MASK == ring_format.OVERHEAD]
    assert overhead_ns > least_ns
