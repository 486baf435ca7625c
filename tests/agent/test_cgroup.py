"""Control groups, both versions, as files that look like the kernel's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from underfed import cgroup

Make = Callable[..., None]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes a process's view: its memberships, the mounts, and the files of its groups."""
    read = cgroup._read

    def make_view(memberships: str, mounts: str, files: dict[str, str]) -> None:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        views = {"/proc/7/cgroup": memberships, "/proc/self/mountinfo": mounts.replace("ROOT", str(tmp_path))}
        monkeypatch.setattr(cgroup, "_read", lambda path: views[str(path)] if str(path) in views else read(path))

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
    assert cgroup.throttled_us(7) == 77


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
    assert cgroup.throttled_us(7) == 77


def test_no_limit_is_none_and_not_a_number(make: Make) -> None:
    files = {
        "cpu/job/cpu.cfs_quota_us": "-1",
        "cpu/job/cpu.cfs_period_us": "100000",
        "memory/job/memory.limit_in_bytes": "9223372036854771712",
    }
    make("4:memory:/job\n1:cpu,cpuacct:/job", V1_MOUNTS, files)
    assert cgroup.quota_cores(7) is None
    assert cgroup.memory_limit_bytes(7) is None
    assert cgroup.throttled_us(7) is None


def test_in_a_container_the_mounts_root_is_the_groups_own(make: Make) -> None:
    files = {"cpu.max": "100000 100000"}
    make("0::/docker/abc", V2_MOUNT.replace(" / ROOT", " /docker/abc ROOT"), files)
    assert cgroup.quota_cores(7) == 1.0


def test_without_control_groups_nothing_is_known(make: Make) -> None:
    make("", "", {})
    assert cgroup.quota_cores(7) is None
    assert cgroup.memory_limit_bytes(7) is None
    assert cgroup.throttled_us(7) is None


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
