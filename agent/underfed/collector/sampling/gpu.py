"""The NVIDIA devices that a run may use, and what NVML reports of them each second; or why it reports nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from underfed.collector.sampling.samples import Row
from underfed.collector.wire import Device

Answer = TypeVar("Answer")

NO_LIBRARY = "no NVIDIA driver here: its management library (NVML) was not found"
NONE_VISIBLE = "CUDA_VISIBLE_DEVICES hides every GPU"
MIXED = "GPUs of several models: CUDA numbers them by speed, so NVML cannot say which ones CUDA_VISIBLE_DEVICES names"
NO_ANSWER = "NVML does not report the version of its driver"
SLICES = "MIG slices report no utilisation"


@dataclass(frozen=True, slots=True)
class Gpu:
    device: Device
    handle: Any


class GpuSampler:
    """``missing`` says why there is nothing to sample; ``gpus`` is empty then.

    ``visible`` is ``CUDA_VISIBLE_DEVICES`` of the training process, ``order`` its ``CUDA_DEVICE_ORDER``. NVML is
    passed in, so that the logic is tested where there is no GPU.
    """

    def __init__(self, nvml: Any, visible: str | None, order: str | None) -> None:
        self._nvml = nvml
        self.gpus: list[Gpu] = []
        self.missing: str | None = None
        self.driver: str | None = None
        """The driver's version, which is known even if every device is hidden."""
        try:
            nvml.nvmlInit()
            self.driver = self._ask(lambda: _text(nvml.nvmlSystemGetDriverVersion()))
            self._find(visible, order)
        except nvml.NVMLError as error:
            self.gpus = []
            self.missing = NO_LIBRARY if isinstance(error, nvml.NVMLError_LibraryNotFound) else f"NVML: {error}"

    @property
    def devices(self) -> list[Device]:
        return [gpu.device for gpu in self.gpus]

    @property
    def reasons(self) -> dict[str, str]:
        """Why facts of the run are not measured."""
        reasons = {"gpu_util_fraction": self.missing} if self.missing else {}
        return reasons if self.driver else {**reasons, "gpu_driver": self.missing or NO_ANSWER}

    def sample(self, pids: Iterable[int]) -> list[tuple[int, Row]]:
        """``(gpu_index, row)`` of each. ``own_process``: one of these training processes computes on it."""
        own = set(pids)
        return [(gpu.device.gpu_index, self._row(gpu.handle, own)) for gpu in self.gpus]

    def _find(self, visible: str | None, order: str | None) -> None:
        all_gpus = [self._gpu(index) for index in range(self._nvml.nvmlDeviceGetCount())]
        if not all_gpus:
            self.missing = "no NVIDIA GPU"
        elif visible is None:
            self.gpus = all_gpus
        else:
            self.gpus, self.missing = choose(all_gpus, visible, order)

    def _gpu(self, index: int) -> Gpu:
        handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
        uuid = self._ask(lambda: _text(self._nvml.nvmlDeviceGetUUID(handle)))
        memory = self._ask(lambda: int(self._nvml.nvmlDeviceGetMemoryInfo(handle).total))
        return Gpu(Device(index, uuid, _text(self._nvml.nvmlDeviceGetName(handle)), memory), handle)

    def _row(self, handle: Any, own: set[int]) -> Row:
        nvml = self._nvml
        running = self._ask(lambda: {process.pid for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle)})
        return {
            "util_fraction": self._ask(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100),
            "memory_used_bytes": self._ask(lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).used)),
            "power_w": self._ask(lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000),
            # In a container NVML may list the host's pids, or none: then their processes are not known.
            "own_process": bool(running & own) if running else None,
        }

    def _ask(self, question: Callable[[], Answer]) -> Answer | None:
        """NVML's answer; ``None`` where this device or driver does not support the query."""
        try:
            return question()
        except self._nvml.NVMLError:
            return None


def choose(gpus: list[Gpu], visible: str, order: str | None) -> tuple[list[Gpu], str | None]:
    """Devices named by ``CUDA_VISIBLE_DEVICES``, and why there are none.

    CUDA stops at the first entry that it does not know, and numbers devices by speed unless
    ``CUDA_DEVICE_ORDER=PCI_BUS_ID``, which is NVML's order (CUDA C++ Programming Guide, environment variables).
    """
    entries = [entry.strip() for entry in visible.split(",") if entry.strip()]
    if any(entry.startswith("MIG") for entry in entries):
        return [], SLICES
    is_by_number = any(entry.isdigit() for entry in entries)
    if is_by_number and order != "PCI_BUS_ID" and len({gpu.device.name for gpu in gpus}) > 1:
        return [], MIXED
    chosen: list[Gpu] = []
    for entry in entries:
        found = next((gpu for gpu in gpus if _is_called(gpu, entry)), None)
        if found is None:
            break
        chosen.append(found)
    return chosen, None if chosen else NONE_VISIBLE


def open_gpus(visible: str | None, order: str | None) -> GpuSampler:
    """A sampler with the real NVML, which is imported here: only the collector needs it."""
    import pynvml

    return GpuSampler(pynvml, visible, order)


def _is_called(gpu: Gpu, entry: str) -> bool:
    uuid = gpu.device.uuid or ""
    return str(gpu.device.gpu_index) == entry or (entry.startswith("GPU-") and uuid.startswith(entry))


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
