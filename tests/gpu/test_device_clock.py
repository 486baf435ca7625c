"""The device clock on a real device: injected stalls are measured, hidden waits are none, and nothing is disturbed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import underfed
from tests.fakes.datasets import Numbers
from tests.fakes.environment import clean_environment
from tests.fakes.service import Service, wait_until
from tests.gpu.gpu import DEVICE, Gpu, Loop

STEPS, SETTLED = 40, 5
SLACK_MS = 0.1
"""Launching, and the resolution of events. Medians, as a host that is preempted does leave its device idle."""


@pytest.fixture
def loop(gpu: Gpu, tmp_path: Path) -> Loop:
    return Loop(gpu, tmp_path)


@pytest.mark.parametrize("stall_ms", [5.0, 20.0, 50.0])
def test_an_injected_stall_of_a_drained_device_is_measured(loop: Loop, stall_ms: float) -> None:
    loop.run(STEPS, stall_ms, work_ms=8.0, sync=True)
    timed = loop.finish()
    assert sorted(timed) == list(range(STEPS))
    idle_ms = [timed[step][0] for step in range(SETTLED, STEPS)]
    injected = loop.waits_ms[SETTLED:]  # as long as it really became
    assert min(injected) == pytest.approx(stall_ms, rel=0.05)
    assert [idle / wait for idle, wait in zip(idle_ms, injected, strict=True)] == pytest.approx(
        [1.0] * len(injected), rel=0.05
    )


@pytest.mark.parametrize("stall_ms", [5.0, 20.0, 50.0])
def test_of_a_stall_the_part_that_work_does_not_hide_is_measured(loop: Loop, stall_ms: float) -> None:
    loop.run(STEPS, stall_ms, work_ms=stall_ms / 2, sync=False)
    timed = loop.finish()
    works_ms = loop.works_ms()
    expected = [loop.waits_ms[step] - works_ms[step - 1] for step in range(SETTLED, STEPS)]
    idle_ms = [timed[step][0] for step in range(SETTLED, STEPS)]
    assert median(idle_ms) == pytest.approx(median(expected), rel=0.05)


@pytest.mark.parametrize("stall_ms", [5.0, 20.0, 50.0])
def test_a_hidden_wait_is_no_stall(loop: Loop, stall_ms: float) -> None:
    loop.run(STEPS, stall_ms, work_ms=stall_ms * 1.5, sync=False)
    timed = loop.finish()
    hidden = [step for step in range(SETTLED, STEPS) if loop.waits_ms[step] < 1.2 * stall_ms]
    assert median(timed[step][0] for step in hidden) < SLACK_MS


@pytest.mark.parametrize("sync", [False, True])
def test_idle_in_next_is_never_more_than_all_idle(loop: Loop, sync: bool) -> None:
    loop.run(STEPS, 4.0, work_ms=3.0, sync=sync)
    timed, gaps_ms = loop.finish(), loop.gaps_ms()
    assert all(timed[step][0] <= gaps_ms[step] + SLACK_MS for step in range(SETTLED, STEPS))


def test_the_work_of_a_step_is_measured_where_the_host_is_ahead(loop: Loop) -> None:
    loop.run(STEPS, 1.0, work_ms=10.0, sync=False)
    timed, works_ms = loop.finish(), loop.works_ms()
    works = [(timed[step][1], works_ms[step]) for step in range(SETTLED, STEPS - 1)]
    assert all(work is not None for work, _ in works)
    assert median(work or 0 for work, _ in works) == pytest.approx(median(real for _, real in works), rel=0.05)


def test_the_work_of_a_step_is_not_measured_where_the_device_was_done(loop: Loop) -> None:
    loop.run(STEPS, 1.0, work_ms=5.0, sync=True)
    assert {work for _, work in loop.finish().values()} == {None}


def test_no_call_of_the_clock_synchronises(loop: Loop) -> None:
    torch.cuda.set_sync_debug_mode("error")
    try:
        loop.run(STEPS, 0.5, work_ms=5.0, sync=False)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(loop.finish()) == STEPS


def test_a_capture_is_left_alone_and_its_replays_are_work(loop: Loop) -> None:
    values = torch.zeros(1000, device="cuda")
    with torch.cuda.stream(DEVICE.Stream()):
        values += 1
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    loop.run(3, 1.0, work_ms=5.0, sync=False)
    with torch.cuda.graph(graph):
        loop.next(1.0)
        values += 1
        loop.gpu.work(20.0)
    captured = loop.steps - 1
    before = float(values[0])
    for _ in range(STEPS):
        loop.next(5.0)
        graph.replay()
    timed = loop.finish()
    assert float(values[0]) == before + STEPS
    assert captured not in timed
    assert median(timed[step][0] for step in range(captured + 1 + SETTLED, loop.steps)) < SLACK_MS


class DataPrefetcher:
    """As in the examples of NVIDIA's Apex. ``inside``: a variant that draws the batch in its own stream too."""

    def __init__(self, loop: Loop, stall_ms: float, inside: bool) -> None:
        self.loop, self.stall_ms, self.inside = loop, stall_ms, inside
        self.stream = DEVICE.Stream()
        self.host = torch.zeros(1 << 20).pin_memory()
        self.preload()

    def preload(self) -> None:
        with torch.cuda.stream(self.stream if self.inside else torch.cuda.current_stream()):
            self.loop.next(self.stall_ms)
        with torch.cuda.stream(self.stream):
            self.batch = self.host.cuda(non_blocking=True)

    def next(self) -> torch.Tensor:
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch
        batch.record_stream(torch.cuda.current_stream())
        self.preload()
        return batch


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(("stall_ms", "work_ms"), [(5.0, 20.0), (20.0, 8.0)])
def test_of_a_users_own_prefetcher_only_what_shows_is_a_stall(
    loop: Loop, stall_ms: float, work_ms: float, inside: bool
) -> None:
    prefetcher = DataPrefetcher(loop, stall_ms, inside)
    for _ in range(STEPS):
        prefetcher.next()
        loop.works.append(loop.gpu.marked(work_ms))
    timed = loop.finish()
    idle_ms = median(timed[step][0] for step in range(SETTLED, STEPS))
    shown_ms = max(0.0, median(loop.waits_ms[SETTLED:]) - median(loop.works_ms()[SETTLED:]))
    assert idle_ms == pytest.approx(shown_ms, rel=0.05, abs=SLACK_MS)


def test_the_device_clock_of_a_watched_loader_arrives(service: Service, gpu: Gpu) -> None:
    loader = underfed.watch(DataLoader(Numbers(160, 0.005), batch_size=4), name="train")
    for _ in loader:
        gpu.work(8.0)
    gpu.synchronize()
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert service.windows[-1]["losses"]["agent_errors"] == 0
    rows = [
        (idle, wait)
        for part in service.steps()
        for idle, wait in zip(part.get("gpu_idle_us", []), part["data_wait_us"], strict=False)
        if idle is not None
    ][SETTLED:]
    assert len(rows) > 25
    hidden_us = median(wait - idle for idle, wait in rows)
    assert hidden_us == pytest.approx(8_000, rel=0.2), "of each wait, the work before it hid that much"


def run(program: str, *, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "train.py"
    script.write_text(program)
    variables = {"UNDERFED_DIR": str(tmp_path), "UNDERFED_URL": "http://127.0.0.1:9", "UNDERFED_LINGER_S": "0.5"}
    environment = clean_environment(**variables)
    return subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False, timeout=120
    )


CPU_ONLY = """
import os, torch, underfed
from torch.utils.data import DataLoader, TensorDataset
loader = underfed.watch(DataLoader(TensorDataset(torch.arange(64.0)), batch_size=4, num_workers=2))
for _ in range(3):
    for batch in loader:
        pass
for batch in underfed.prefetch(loader, "cpu"):
    pass
assert not torch.cuda.is_initialized()
files = [os.path.realpath(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")]
print([file for file in files if file.startswith(("/dev/nvidia", "/dev/kfd"))])
"""


def test_a_program_that_uses_no_device_is_given_none(tmp_path: Path) -> None:
    ran = run(CPU_ONLY, tmp_path=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "[]\n"), ran.stderr


INITIALISED_ONLY = """
import torch, underfed
from torch.utils.data import DataLoader, TensorDataset
torch.cuda.init()
loader = underfed.watch(DataLoader(TensorDataset(torch.arange(64.0)), batch_size=4))
before = [torch._C._cuda_hasPrimaryContext(device) for device in range(torch.cuda.device_count())]
for batch in loader:
    pass
after = [torch._C._cuda_hasPrimaryContext(device) for device in range(torch.cuda.device_count())]
print(before == after)
"""


def test_a_device_without_a_context_gets_none_of_ours(tmp_path: Path) -> None:
    ran = run(INITIALISED_ONLY, tmp_path=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "True\n"), ran.stderr


FAILING = """
import torch, underfed
from torch.utils.data import DataLoader, TensorDataset
values = torch.zeros(4, device="cuda")
loader = underfed.watch(DataLoader(TensorDataset(torch.arange(64.0)), batch_size=4))
for number, batch in enumerate(loader):
    if number == 3:
        values[torch.tensor([99], device="cuda")]
print("the loop has ended", flush=True)
try:
    torch.cuda.synchronize()
except RuntimeError as error:
    print("device-side assert" in str(error))
"""


def test_an_error_of_the_device_reaches_the_user_at_a_call_of_his_own(tmp_path: Path) -> None:
    ran = run(FAILING, tmp_path=tmp_path)
    assert ran.stdout == "the loop has ended\nTrue\n", ran.stderr


def test_workers_that_are_forked_beside_the_clock_end_as_ever(loop: Loop) -> None:
    loop.run(5, 1.0, work_ms=5.0, sync=False)
    for _ in range(3):
        begin = time.perf_counter()
        seen = list(DataLoader(Numbers(32), batch_size=4, num_workers=2))
        assert len(seen) == 8
        assert time.perf_counter() - begin < 60, "no worker hangs"
    loop.run(5, 1.0, work_ms=5.0, sync=False)
    assert len(loop.finish()) == 10


def test_the_events_of_a_device_are_made_once(gpu: Gpu, tmp_path: Path) -> None:
    loops = []
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        loops.append(Loop(gpu, tmp_path / str(number)))
    first, second = loops
    shared: Any = first.clock._free
    assert shared is second.clock._free
