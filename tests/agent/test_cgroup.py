"""Control groups, both versions, as files that look like the kernel's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from underfed.host import cgroup

Make = Callable[..., None]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Creates what a process sees: its memberships, the mounts, and the files of its groups."""
    read_text = Path.read_text

    def make_view(memberships: str, mounts: str, files: dict[str, str]) -> None:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        views = {"/proc/7/cgroup": memberships, "/proc/self/mountinfo": mounts.replace("ROOT", str(tmp_path))}

        def read(path: Path, *_: object, **options: str) -> str:
            return views[str(path)] if str(path) in views else read_text(path, **options)

        monkeypatch.setattr(Path, "read_text", read)

    return make_view


V2_MOUNT = "30 23 0:26 / ROOT rw,nosuid - cgroup2 cgroup2 rw"
V1_MOUNTS = "\n".join(
    [
        "32 31 0:29 / ROOT/cpu rw - cgroup cgroup rw,cpu,cpuacct",
        "35 31 0:32 / ROOT/memory rw - cgroup cgroup rw,memory",
        "41 31 0:38 / ROOT/unified rw - cgroup2 cgroup2 rw",
    ]
)


def test_version_2_limits_are_read(make: Make) -> None:
    files = {
        "job/cpu.max": "150000 100000",
        "job/memory.max": "1073741824",
        "job/cpu.stat": "usage_usec 9\nthrottled_usec 77",
    }
    make("0::/job", V2_MOUNT, files)
    assert cgroup.quota_cores(7) == 1.5
    assert cgroup.memory_limit_bytes(7) == 1 << 30
    assert cgroup.throttled_us(cgroup.cpu_group(7)) == 77


def test_the_smallest_limit_of_all_ancestors_holds(make: Make) -> None:
    files = {
        "pod/cpu.max": "200000 100000",
        "pod/job/cpu.max": "max 100000",
        "pod/memory.max": "5",
        "pod/job/memory.max": "9",
    }
    make("0::/pod/job", V2_MOUNT, files)
    assert cgroup.quota_cores(7) == 2.0
    assert cgroup.memory_limit_bytes(7) == 5


def test_version_1_limits_are_read(make: Make) -> None:
    files = {
        "cpu/job/cpu.cfs_quota_us": "50000",
        "cpu/job/cpu.cfs_period_us": "100000",
        "cpu/job/cpu.stat": "nr_periods 1\nthrottled_time 77000",
        "memory/job/memory.limit_in_bytes": "4096",
    }
    make("4:memory:/job\n1:cpu,cpuacct:/job\n0::/", V1_MOUNTS, files)
    assert cgroup.quota_cores(7) == 0.5
    assert cgroup.memory_limit_bytes(7) == 4096
    assert cgroup.throttled_us(cgroup.cpu_group(7)) == 77


def test_what_a_group_uses_of_its_limit_is_without_file_cache_that_would_be_dropped(make: Make) -> None:
    files = {
        "pod/memory.max": "9000",
        "pod/memory.current": "8000",
        "pod/memory.stat": "anon 2000\ninactive_file 5000\nactive_file 1000",
        "pod/job/memory.max": "max",
        "pod/job/memory.current": "7",
    }
    make("0::/pod/job", V2_MOUNT, files)
    assert cgroup.memory_used_bytes(cgroup.limiting_memory_group(7)) == 3000


def test_version_1_counts_those_below_in_too(make: Make) -> None:
    files = {
        "memory/job/memory.limit_in_bytes": "9000",
        "memory/job/memory.usage_in_bytes": "8000",
        "memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 5000",
    }
    make("4:memory:/job", V1_MOUNTS, files)
    assert cgroup.memory_used_bytes(cgroup.limiting_memory_group(7)) == 3000


def test_without_a_limit_nothing_is_used_of_it(make: Make) -> None:
    make("0::/job", V2_MOUNT, {"job/memory.max": "max", "job/memory.current": "8000"})
    assert cgroup.limiting_memory_group(7) is None
    assert cgroup.memory_used_bytes(None) is None


def test_no_limit_is_none_and_not_a_number(make: Make) -> None:
    files = {
        "cpu/job/cpu.cfs_quota_us": "-1",
        "cpu/job/cpu.cfs_period_us": "100000",
        "memory/job/memory.limit_in_bytes": "9223372036854771712",
    }
    make("4:memory:/job\n1:cpu,cpuacct:/job", V1_MOUNTS, files)
    assert cgroup.quota_cores(7) is None
    assert cgroup.memory_limit_bytes(7) is None
    assert cgroup.throttled_us(cgroup.cpu_group(7)) is None


def test_in_a_container_the_mounts_root_is_the_groups_own(make: Make) -> None:
    files = {"cpu.max": "100000 100000"}
    make("0::/docker/abc", V2_MOUNT.replace(" / ROOT", " /docker/abc ROOT"), files)
    assert cgroup.quota_cores(7) == 1.0


def test_without_control_groups_nothing_is_known(make: Make) -> None:
    make("", "", {})
    assert cgroup.quota_cores(7) is None
    assert cgroup.memory_limit_bytes(7) is None
    assert cgroup.throttled_us(cgroup.cpu_group(7)) is None


@pytest.mark.parametrize(
    ("allowed", "quota", "usable"), [(8, 2.5, 2.5), (2, 4.0, 2.0), (8, None, 8.0), (None, None, None)]
)
def test_the_smaller_of_affinity_and_quota_is_usable(
    allowed: int | None, quota: float | None, usable: float | None
) -> None:
    assert cgroup.usable_cores(allowed, quota) == usable


def test_this_process_has_allowed_cpus() -> None:
    assert (cgroup.allowed_cpus() or 0) >= 1
    assert cgroup.allowed_cpus(2**22) is None
