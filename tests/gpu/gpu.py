"""Work of known length on a real device, and a training loop that knows its own truth."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from underfed.exchange import ring_format
from underfed.exchange.ring import RingReader, RingWriter
from underfed.exchange.ring_format import NOT_MEASURED
from underfed.trainer.device.device_clock import open_device_clock

CALIBRATING_CYCLES = 50_000_000
DEVICE: Any = torch.cuda


class Gpu:
    """The current device. Holds a tensor there, so that the device counts as used."""

    def __init__(self) -> None:
        self.tensor = torch.zeros(1024, device="cuda")
        self.cycles_per_ms = 1.0
        for _ in range(3):  # clocks rise at first
            begin, end = self.event(), self.event()
            begin.record()
            DEVICE._sleep(CALIBRATING_CYCLES)
            end.record()
            end.synchronize()
            self.cycles_per_ms = CALIBRATING_CYCLES / begin.elapsed_time(end)

    def event(self) -> Any:
        return DEVICE.Event(enable_timing=True)

    def work(self, milliseconds: float) -> None:
        """A kernel of about that length, in the current stream."""
        DEVICE._sleep(round(milliseconds * self.cycles_per_ms))

    def marked(self, milliseconds: float) -> tuple[Any, Any]:
        """Work, with an event before and one after it: its real length, independently of the clock under test."""
        begin, end = self.event(), self.event()
        begin.record()
        self.work(milliseconds)
        end.record()
        return begin, end

    def synchronize(self) -> None:
        DEVICE.synchronize()


class Loop:
    """Steps with the device clock of a loader, as its iterator would use it."""

    def __init__(self, gpu: Gpu, directory: Path) -> None:
        self.gpu = gpu
        ring = RingWriter(directory / "steps.ring", 4096)
        self.reader = RingReader(directory / "steps.ring")
        clock = open_device_clock(ring)
        assert clock is not None
        self.clock = clock
        self.steps = 0
        self.waits_ms: list[float] = []
        self.works: list[tuple[Any, Any]] = []
        gpu.synchronize()

    def next(self, stall_ms: float) -> None:
        begin = time.perf_counter()
        self.clock.entered(self.steps, must=True)
        while time.perf_counter() < begin + stall_ms / 1e3:
            pass  # sleeping would take as long as the scheduler likes
        self.clock.left()
        self.waits_ms.append((time.perf_counter() - begin) * 1e3)
        self.clock.poll()
        self.steps += 1

    def run(self, steps: int, stall_ms: float, work_ms: float, sync: bool) -> None:
        for _ in range(steps):
            self.next(stall_ms)
            self.works.append(self.gpu.marked(work_ms))
            if sync:
                self.gpu.synchronize()

    def finish(self) -> dict[int, tuple[float, float | None]]:
        """Idle and work of each timed step in milliseconds."""
        self.gpu.synchronize()
        self.clock.entered(self.steps | 1, must=False)  # no sample: what was last waits for no follower
        for _ in range(self.steps):
            self.clock.poll()
        assert self.clock.reason is None
        self.reader.mark()
        timed = {}
        for head, step, idle_ns, work_ns, *_ in self.reader.drain():
            assert head & ring_format.KIND_MASK == ring_format.DEVICE
            timed[step] = idle_ns / 1e6, None if work_ns == NOT_MEASURED else work_ns / 1e6
        return timed

    def works_ms(self) -> list[float]:
        return [begin.elapsed_time(end) for begin, end in self.works]

    def gaps_ms(self) -> list[float]:
        """Between the work of a step and that of the one before: all idle time of the device, the wait's included."""
        ends = [end for _, end in self.works]
        return [0.0, *[end.elapsed_time(begin) for end, (begin, _) in zip(ends, self.works[1:], strict=False)]]
