"""What the collector samples: processes, the host, and columns of rows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.service import wait_until
from underfed.collector.sampling import host_sampler
from underfed.collector.sampling.host_sampler import HostSampler, host_facts, numa_nodes, open_files_limit
from underfed.collector.sampling.process_usage import ProcessSampler
from underfed.collector.sampling.samples import Columns, CostlyPace
from underfed.exchange.run_files import RingName
from underfed.host import memory, procfs
from underfed.host.memory import Memory, read_memory
from underfed.host.procfs import ProcessUsage

RING = RingName(0, 0, 0)


def spin(seconds: float) -> None:
    deadline = time.process_time() + seconds
    while time.process_time() < deadline:
        pass


SPINNER = """
import sys, time
for seconds in sys.stdin:
    until = time.process_time() + float(seconds)
    while time.process_time() < until:
        pass
    print("spun", flush=True)
"""


def spinner() -> subprocess.Popen[str]:
    """A process that ends once its input does."""
    return subprocess.Popen([sys.executable, "-c", SPINNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def spin_in(process: subprocess.Popen[str], seconds: float) -> None:
    """Have it use so much CPU time."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{seconds}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "spun\n"


def living(pid: int, ring: RingName = RING) -> dict[RingName, ProcessUsage]:
    usage = procfs.usage(pid)
    return {} if usage is None else {ring: usage}


def test_a_process_and_its_threads_are_sampled() -> None:
    """One of its own: other tests may have left this one a child that still ends, and its time would count."""
    process = spinner()
    sampler = ProcessSampler(process.pid)
    before = sampler.sample({}, {})
    spin_in(process, 0.05)
    after = sampler.sample({}, {})
    process.communicate()
    assert before is not None
    assert after is not None
    assert (after["main_cpu_us"] or 0) - (before["main_cpu_us"] or 0) >= 40_000
    assert (after["process_cpu_us"] or 0) >= (after["main_cpu_us"] or 0) - 20_000
    assert (after["rss_bytes"] or 0) > 1 << 20
    assert (after["threads"] or 0) >= 1
    assert (after["workers_cpu_us"], after["workers_rss_bytes"]) == (0, 0)


def test_open_files_are_counted() -> None:
    sampler = ProcessSampler(os.getpid())
    before = sampler.sample({}, {})
    with Path(__file__).open(), Path(__file__).open():
        after = sampler.sample({}, {})
    assert before is not None
    assert after is not None
    assert (after["open_files"] or 0) - (before["open_files"] or 0) == 2


def test_a_process_that_is_gone_is_not_sampled() -> None:
    process = spinner()
    sampler = ProcessSampler(process.pid)
    assert sampler.sample({}, {}) is not None
    process.communicate()
    assert sampler.sample({}, {}) is None


def test_the_cpu_time_of_a_worker_outlives_it() -> None:
    sampler = ProcessSampler(os.getpid())
    worker = spinner()
    spin_in(worker, 0.1)
    alive = sampler.sample(living(worker.pid), {})
    worker.communicate()
    gone = sampler.sample(living(worker.pid), {})
    sampler.forget(RING)
    forgotten = sampler.sample({}, {})
    assert alive is not None
    assert gone is not None
    assert forgotten is not None
    assert (alive["workers_cpu_us"] or 0) >= 80_000  # /proc counts in ticks of 10 ms
    assert (alive["workers_rss_bytes"] or 0) > 0
    assert gone["workers_cpu_us"] == forgotten["workers_cpu_us"] == alive["workers_cpu_us"]
    assert gone["workers_rss_bytes"] == 0


def test_programs_that_loading_starts_without_workers_are_the_runs_own() -> None:
    """While they live, and after the training process has collected them."""
    sampler = ProcessSampler(os.getpid())
    before = sampler.sample({}, {})
    decoder = spinner()
    spin_in(decoder, 0.1)
    alive = sampler.sample({}, {})
    decoder.communicate()
    gone = sampler.sample({}, {})
    with_workers = sampler.sample({}, {RING: 5})
    assert before is not None and alive is not None and gone is not None and with_workers is not None
    assert before["workers_cpu_us"] == 0
    assert 80_000 <= (alive["workers_cpu_us"] or 0) <= (gone["workers_cpu_us"] or 0)
    assert with_workers["workers_cpu_us"] == (gone["workers_cpu_us"] or 0) + 5, "it stays cumulative"


def test_a_worker_too_short_lived_to_be_sampled_counts_by_its_records() -> None:
    row = ProcessSampler(os.getpid()).sample({}, {RING: 1234})
    assert row is not None
    assert row["workers_cpu_us"] == 1234


SWAP_TABLE = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2\tpartition\t4096\t{used}\t-2\n"


def test_swapped_memory_is_0_while_nothing_is_swapped_and_asked_for_seldom_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "swaps"
    monkeypatch.setattr(procfs, "SWAPS", table)
    monkeypatch.setattr(procfs, "swap_bytes", lambda pid: 100 if pid == os.getpid() else 7)
    sampler = ProcessSampler(os.getpid())

    def swapped() -> object:
        row = sampler.sample(living(1), {})
        assert row is not None
        return row["swap_bytes"]

    assert swapped() is None, "where the system does not say"
    table.write_text(SWAP_TABLE.format(used=0))
    assert swapped() == 0
    table.write_text(SWAP_TABLE.format(used=8))
    assert sorted({swapped() for _ in range(10)}, key=str) == [107, None]


def test_memory_is_as_psutil_says_also_where_that_has_to_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_proc = read_memory()
    monkeypatch.setattr(memory, "PROC", tmp_path)
    by_psutil = read_memory()
    assert (by_proc.total_bytes, by_proc.swap_total_bytes) == (by_psutil.total_bytes, by_psutil.swap_total_bytes)
    assert by_proc.available_bytes == pytest.approx(by_psutil.available_bytes, rel=0.3)
    (tmp_path / "meminfo").write_text("MemTotal:  2048 kB\nMemAvailable: 1024 kB\nSwapTotal: 8 kB\nSwapFree: 5 kB\n")
    assert read_memory() == Memory(2 << 20, 1 << 20, 8 << 10, 3 << 10)
    (tmp_path / "meminfo").write_text("MemTotal:  2048 kB\n")
    assert read_memory() == Memory(2 << 20, None, None, None)
    (tmp_path / "meminfo").unlink()
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert read_memory() == Memory(None, None, None, None)


def test_the_host_is_described(tmp_path: Path) -> None:
    facts = host_facts(os.getpid(), tmp_path)
    assert facts.cpu_model
    assert facts.allowed_cpus == len(os.sched_getaffinity(0))
    assert facts.usable_cores is not None
    assert 0 < facts.usable_cores <= facts.allowed_cpus
    assert (facts.memory_total_bytes or 0) > 1 << 28
    assert (facts.shm_total_bytes or 0) >= (facts.shm_free_bytes or 0) > 0
    assert facts.cpu_slowdown is None
    assert (facts.memory_total_bytes or 0) > (facts.memory_available_bytes or 0) > 0
    assert (facts.open_files_limit or 0) >= 64
    assert (facts.numa_nodes or 0) >= 1


def test_the_limit_of_open_files_is_the_processs_own() -> None:
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (77, 99)); print(1, flush=True); input()"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    assert open_files_limit(process.pid) == 77
    process.communicate(b"\n")
    assert open_files_limit(process.pid) is None


@pytest.mark.parametrize(("text", "nodes"), [("0\n", 1), ("0-1\n", 2), ("0-3,8\n", 5)])
def test_nodes_with_memory_are_counted(text: str, nodes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "has_memory").write_text(text)
    monkeypatch.setattr(host_sampler, "NODES_WITH_MEMORY", tmp_path / "has_memory")
    assert numa_nodes() == nodes
    monkeypatch.setattr(host_sampler, "NODES_WITH_MEMORY", tmp_path / "none")
    assert numa_nodes() is None


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


def test_after_a_long_look_there_is_a_long_pause() -> None:
    pace = CostlyPace()
    with pace.measuring():
        pass
    wait_until(pace.is_due, "a look that cost nothing")
    with pace.measuring():
        spin(0.1)
    assert not pace.is_due()


@pytest.mark.parametrize("name", ["memory_available_bytes", "shm_free_bytes"])
def test_memory_is_sampled(name: str) -> None:
    assert (HostSampler(os.getpid()).sample()[name] or 0) > 0


@pytest.mark.parametrize("resource", ["cpu", "io", "memory"])
def test_pressure_is_sampled_where_the_kernel_reports_it(resource: str) -> None:
    before = HostSampler(os.getpid()).sample()[f"{resource}_pressure_us"]
    try:
        found = re.search(r"some .*total=(\d+)", Path(f"/proc/pressure/{resource}").read_text())
    except OSError:
        assert before is None
        return
    assert before is not None
    assert found is not None
    assert 0 <= before <= int(found[1])
