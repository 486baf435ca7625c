"""What the collector samples: processes, the host, and columns of rows."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.service import wait_until
from underfed.collector.host import HostSampler, host_facts
from underfed.collector.process import ProcessSampler
from underfed.collector.samples import Columns
from underfed.rundir import RingName

RING = RingName(0, 0, 0)


def spin(seconds: float) -> None:
    deadline = time.process_time() + seconds
    while time.process_time() < deadline:
        pass


def test_a_process_and_its_threads_are_sampled() -> None:
    sampler = ProcessSampler.of(os.getpid())
    assert sampler is not None
    before = sampler.sample({}, {})
    spin(0.05)
    after = sampler.sample({}, {})
    assert before is not None
    assert after is not None
    assert (after["main_cpu_us"] or 0) - (before["main_cpu_us"] or 0) >= 40_000
    assert (after["process_cpu_us"] or 0) >= (after["main_cpu_us"] or 0) - 20_000
    assert (after["rss_bytes"] or 0) > 1 << 20
    assert (after["threads"] or 0) >= 1
    assert (after["workers_cpu_us"], after["workers_rss_bytes"]) == (0, 0)


def test_a_process_that_is_gone_is_not_sampled() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    sampler = ProcessSampler.of(process.pid)
    assert sampler is not None
    process.communicate()
    assert sampler.sample({}, {}) is None
    assert ProcessSampler.of(2**22) is None


def test_the_cpu_time_of_a_worker_outlives_it() -> None:
    sampler = ProcessSampler.of(os.getpid())
    assert sampler is not None
    program = "import time\nwhile time.process_time() < 0.1: pass\nprint(1, flush=True); __import__('sys').stdin.read()"
    worker = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert worker.stdout is not None
    worker.stdout.readline()
    alive = sampler.sample({RING: worker.pid}, {})
    worker.communicate()
    gone = sampler.sample({RING: worker.pid}, {})
    assert alive is not None
    assert gone is not None
    assert (alive["workers_cpu_us"] or 0) >= 80_000  # /proc counts in ticks of 10 ms
    assert (alive["workers_rss_bytes"] or 0) > 0
    assert gone["workers_cpu_us"] == alive["workers_cpu_us"]
    assert gone["workers_rss_bytes"] == 0


def test_a_worker_too_short_lived_to_be_sampled_counts_by_its_records() -> None:
    sampler = ProcessSampler.of(os.getpid())
    assert sampler is not None
    row = sampler.sample({RING: 2**22}, {RING: 1234})
    assert row is not None
    assert row["workers_cpu_us"] == 1234


def test_the_host_is_described(tmp_path: Path) -> None:
    facts = host_facts(os.getpid(), tmp_path)
    assert facts.cpu_model
    assert facts.allowed_cpus == len(os.sched_getaffinity(0))
    assert facts.usable_cores is not None
    assert 0 < facts.usable_cores <= facts.allowed_cpus
    assert (facts.memory_total_bytes or 0) > 1 << 28
    assert (facts.shm_total_bytes or 0) >= (facts.shm_free_bytes or 0) > 0
    assert facts.cpu_slowdown is None


def test_of_a_process_that_is_gone_the_machine_is_still_described(tmp_path: Path) -> None:
    facts = host_facts(2**22, tmp_path)
    assert (facts.allowed_cpus, facts.usable_cores) == (None, None)
    assert facts.memory_total_bytes


def test_busy_cores_are_seen() -> None:
    sampler = HostSampler(os.getpid())
    assert sampler.sample()["busy_cores"] is None

    def is_busy() -> bool:
        # The kernel counts in ticks of 10 ms.
        spin(0.1)
        busy = sampler.sample()["busy_cores"]
        assert busy is not None
        assert busy <= len(os.sched_getaffinity(0)) + 0.01
        return busy > 0.6

    wait_until(is_busy, "our own spinning is seen")


def test_only_allowed_cpus_count() -> None:
    allowed = os.sched_getaffinity(0)
    program = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); print(1, flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(min(allowed))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    sampler = HostSampler(process.pid)
    sampler.sample()
    spin(0.1)
    busy = sampler.sample()["busy_cores"]
    process.communicate()
    assert busy is not None
    assert 0 <= busy <= 1.01


def test_rows_become_columns_of_one_length() -> None:
    columns = Columns()
    assert columns.take() is None
    columns.add(10, {"a": 1, "b": None, "c": 0})
    columns.add(20, {"a": 2, "b": None, "c": None})
    assert columns.take() == {"at_us": [10, 20], "a": [1, 2], "c": [0, None]}
    assert columns.take() is None


@pytest.mark.parametrize("name", ["memory_available_bytes", "shm_free_bytes"])
def test_memory_is_sampled(name: str) -> None:
    assert (HostSampler(os.getpid()).sample()[name] or 0) > 0
