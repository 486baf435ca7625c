"""NVML, replaced by an object that answers as the library does: which devices count, their samples, why there is
none."""

# ruff: noqa: N801, N802, N818 – the names are the library's own

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from underfed.collector.sampling.gpu import MIXED, NO_LIBRARY, NONE_VISIBLE, SLICES, GpuSampler, open_gpus


class NVMLError(Exception):
    """An error of the library."""


class NVMLError_LibraryNotFound(NVMLError):
    """There is no driver."""


@dataclass
class Nvml:
    """As many devices as it has names. ``refuses`` names questions that the driver does not answer."""

    names: list[str] = field(default_factory=lambda: ["H200", "H200"])
    refuses: set[str] = field(default_factory=set)
    pids: list[int] = field(default_factory=list)
    NVMLError = NVMLError
    NVMLError_LibraryNotFound = NVMLError_LibraryNotFound

    def _ask(self, question: str, answer: Any) -> Any:
        if question in self.refuses:
            raise NVMLError("Not Supported")
        return answer

    def nvmlInit(self) -> None:
        self._ask("init", None)

    def nvmlSystemGetDriverVersion(self) -> str:
        return str(self._ask("driver", "560.35.03"))

    def nvmlDeviceGetCount(self) -> int:
        return len(self.names)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetName(self, handle: int) -> str:
        return self.names[handle]

    def nvmlDeviceGetUUID(self, handle: int) -> bytes:
        return b"GPU-%d%d%d%d" % (handle, handle, handle, handle)

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return self._ask("memory", SimpleNamespace(total=1000, used=10 + handle))

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        return self._ask("utilization", SimpleNamespace(gpu=30 + handle))

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        return int(self._ask("power", 250_500))

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:
        return list(self._ask("processes", [SimpleNamespace(pid=pid) for pid in self.pids]))


def sampler(nvml: Nvml | None = None, visible: str | None = None, order: str | None = None) -> GpuSampler:
    return GpuSampler(nvml or Nvml(), visible, order)


def test_without_a_driver_the_reason_is_given() -> None:
    class NoDriver(Nvml):
        def nvmlInit(self) -> None:
            raise NVMLError_LibraryNotFound("NVML Shared Library Not Found")

    found = sampler(NoDriver())
    assert (found.devices, found.driver, found.missing, found.sample([1])) == ([], None, NO_LIBRARY, [])
    assert found.reasons == {"gpu_util_fraction": NO_LIBRARY, "gpu_driver": NO_LIBRARY}


def test_a_driver_that_fails_says_why() -> None:
    assert sampler(Nvml(refuses={"init"})).missing == "NVML: Not Supported"
    assert sampler(Nvml(names=[])).missing == "no NVIDIA GPU"


def test_the_version_of_the_driver_is_reported_also_where_every_device_is_hidden() -> None:
    found = sampler(visible="")
    assert (found.driver, found.reasons) == ("560.35.03", {"gpu_util_fraction": NONE_VISIBLE})


def test_a_driver_that_does_not_report_its_version_says_so() -> None:
    found = sampler(Nvml(refuses={"driver"}))
    assert (found.driver, len(found.devices)) == (None, 2)
    assert found.reasons == {"gpu_driver": "NVML does not report the version of its driver"}


def test_every_device_is_sampled_where_none_is_hidden() -> None:
    found = sampler(Nvml(pids=[7, 8]))
    assert [(device.gpu_index, device.name, device.uuid) for device in found.devices] == [
        (0, "H200", "GPU-0000"),
        (1, "H200", "GPU-1111"),
    ]
    assert found.sample([8]) == [
        (index, {"util_fraction": util, "memory_used_bytes": 10 + index, "power_w": 250.5, "own_process": True})
        for index, util in ((0, 0.30), (1, 0.31))
    ]
    assert found.missing is None


def test_someone_elses_process_is_not_ours() -> None:
    assert sampler(Nvml(pids=[7])).sample([8])[0][1]["own_process"] is False
    # None listed: in a container the driver may hide them.
    assert sampler(Nvml(pids=[])).sample([8])[0][1]["own_process"] is None


def test_what_a_device_does_not_answer_is_not_measured() -> None:
    refuses = {"utilization", "power", "processes", "memory"}
    found = sampler(Nvml(refuses=refuses))
    assert found.devices[0].memory_total_bytes is None
    row = {"util_fraction": None, "memory_used_bytes": None, "power_w": None, "own_process": None}
    assert found.sample([1])[0] == (0, row)


@pytest.mark.parametrize(
    ("visible", "indexes", "missing"),
    [
        ("1", [1], None),
        ("1,0", [1, 0], None),
        (" 0 , 1 ", [0, 1], None),
        ("GPU-1111", [1], None),
        ("GPU-1", [1], None),
        ("", [], NONE_VISIBLE),
        ("-1", [], NONE_VISIBLE),
        ("0,9,1", [0], None),
        ("MIG-GPU-1/2/3", [], SLICES),
    ],
)
def test_only_devices_that_the_process_may_use_count(visible: str, indexes: list[int], missing: str | None) -> None:
    found = sampler(visible=visible)
    assert [device.gpu_index for device in found.devices] == indexes
    assert found.missing == missing


def test_numbers_of_mixed_devices_mean_nvmls_only_in_its_order() -> None:
    mixed = Nvml(names=["H200", "L4"])
    assert sampler(mixed, visible="1").missing == MIXED
    assert [device.name for device in sampler(mixed, visible="1", order="PCI_BUS_ID").devices] == ["L4"]
    assert [device.name for device in sampler(mixed, visible="GPU-1111").devices] == ["L4"]


def test_the_real_library_answers_or_says_why_not() -> None:
    found = open_gpus(None, None)
    assert (found.missing is None) == bool(found.devices)
