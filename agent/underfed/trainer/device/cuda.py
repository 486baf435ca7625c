"""CUDA as a source of events, or ROCm, which has the same names: used where it is in use, never initialised.

Without CUDA in use nothing of it is called but ``is_initialized()``. Even ``is_available()`` loads the driver, and
after that a forked child cannot use the device; recording on a device without a context would create one, of hundreds
of megabytes, on a GPU that another rank may own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from underfed.host.signal_handlers import let_through

HOST_CLOCK = "judged on the host's clock"
NOT_IN_USE = f"no CUDA device is in use by this process: {HOST_CLOCK}"
SEVERAL = f"this process uses several CUDA devices, and none of them is the current one: {HOST_CLOCK}"
OTHER_THREAD = f"batches are taken outside the main thread, where a graph capture cannot be seen: {HOST_CLOCK}"
NO_TORCH = "PyTorch is not loaded"
NO_DEVICE = f"this PyTorch is built without a device: {HOST_CLOCK}"
MPS = f"MPS has no event pairs we trust: {HOST_CLOCK}"
XPU = f"XPU has no event pairs we trust: {HOST_CLOCK}"


class CudaEvents:
    """One device, as the training thread uses it. What it hands out are torch's own events and streams."""

    __slots__ = ("_cuda", "_current_device", "_current_stream", "_home", "_key", "_stream", "default", "device",
                 "is_capturing", "target")  # fmt: skip

    def __init__(self, torch: Any, device: int) -> None:
        self._cuda = torch.cuda
        self.device = device
        self.target = torch.device("cuda", device)
        self._home: int = torch.cuda.current_device()
        self.is_capturing: Callable[[], bool] = torch.cuda.is_current_stream_capturing
        # The public functions create a new object at each call; these return numbers.
        self._current_device = torch._C._cuda_getDevice
        self._current_stream = torch._C._cuda_getCurrentStream
        self.default: Any = torch.cuda.default_stream(device)
        self._key: Any = None
        self._stream: Any = None

    def may_be_used(self) -> bool:
        """See ``EventSource``. A recording or query in another thread would break a capture in this one."""
        at_home = self._current_device() in (self.device, self._home)
        return at_home and is_main_thread() and not self.is_capturing()

    def stream(self) -> Any:
        key = self._current_stream(self.device)
        if key != self._key:
            current = self._cuda.current_stream(self.device)
            self._key, self._stream = key, self.default if current == self.default else current
        return self._stream

    def event(self) -> Any:
        return immortal(self._cuda.Event(enable_timing=True))

    # For the prefetcher, which the user asked to use the device.

    def side_stream(self) -> Any:
        return self._cuda.Stream(self.device)

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        switched: AbstractContextManager[Any] = self._cuda.stream(stream)
        return switched


_sources: dict[int, CudaEvents] = {}


def source_of(torch: Any, device: int) -> CudaEvents:
    """The one source of this device in this process."""
    if device not in _sources:
        _sources[device] = CudaEvents(torch, device)
    return _sources[device]


def why_no_cuda(torch: Any) -> str:
    """By how this torch was built: asking for devices would load their drivers."""
    if torch.version.cuda is not None or torch.version.hip is not None:
        return NOT_IN_USE
    if torch.backends.mps.is_built():
        return MPS
    return XPU if getattr(torch._C, "_has_xpu", False) else NO_DEVICE


def find_device(torch: Any) -> tuple[int | None, str | None]:
    """The current device if it is in use, else the only one that is: many programs call ``.to("cuda:1")`` and never
    select that device. Or ``None``, and why. ``torch`` is the module, if it is loaded."""
    if torch is None:
        return None, NO_TORCH
    if not torch.cuda.is_initialized():
        return None, why_no_cuda(torch)
    if not is_main_thread():
        return None, OTHER_THREAD
    names = ("_cuda_hasPrimaryContext", "_cuda_getDevice", "_cuda_getCurrentStream")
    missing = [name for name in names if not hasattr(torch._C, name)]
    if missing:
        return None, f"torch {torch.__version__} has no {missing[0]} as we know it: {HOST_CLOCK}"
    current = torch.cuda.current_device()
    if is_in_use(torch, current):
        return current, None
    used = [device for device in range(torch.cuda.device_count()) if is_in_use(torch, device)]
    return (used[0], None) if len(used) == 1 else (None, SEVERAL if used else NOT_IN_USE)


def is_in_use(torch: Any, device: int) -> bool:
    """Whether this process holds tensors there. Asks only devices that have a context."""
    if not torch._C._cuda_hasPrimaryContext(device):
        return False
    try:
        return bool(torch.cuda.memory_allocated(device))
    except RuntimeError as error:
        let_through(error)
        return True  # an allocator of the user's own (RMM) keeps no figures


def is_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def immortal(event: Any) -> Any:
    """Make it never freed: in a forked child, such as a worker, that would call the driver, whose locks may be held
    there for ever."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(event))
    return event
