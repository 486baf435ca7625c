"""The libraries that the loaded PyTorch computes with, read without initialising a device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from underfed.exchange.facts import RunFacts
from underfed.host.signal_handlers import let_through

NO_DEVICE = "this PyTorch is built without CUDA and without ROCm"
ROCM = "this PyTorch is built for ROCm, which has MIOpen in its place"
NOT_IN_USE = "no CUDA device is in use by this process"
NO_CUDNN = "this PyTorch is built without cuDNN"


def with_versions(facts: RunFacts, torch: Any) -> RunFacts:
    """The same with the versions known by now, and why others are not; unchanged once nothing more can become known."""
    if facts.torch_version is not None and facts.not_measured.get("cudnn_version") != NOT_IN_USE:
        return facts
    cuda, hip = torch.version.cuda, torch.version.hip
    cudnn, reason = cudnn_version(torch)
    no_device = None if cuda or hip else NO_DEVICE
    reasons = {"cuda_version": no_device, "hip_version": no_device, "cudnn_version": reason}
    merged: dict[str, str | None] = {**facts.not_measured, **reasons}
    return replace(
        facts,
        torch_version=str(torch.__version__),
        cuda_version=cuda,
        hip_version=hip,
        cudnn_version=cudnn,
        not_measured={name: why for name, why in merged.items() if why is not None},
    )


def cudnn_version(torch: Any) -> tuple[str | None, str | None]:
    """Version of the library in this process, or why it is not read.

    ``torch.backends.cudnn.version()`` compares it with that of the build too, and raises only to the first who asks:
    the number is taken where that one takes it.
    """
    if torch.version.cuda is None:
        return None, ROCM if torch.version.hip else NO_DEVICE
    if not torch.cuda.is_initialized():
        return None, NOT_IN_USE
    try:
        return dotted(torch._C._cudnn.getVersionInt()), None
    except AttributeError:
        return None, NO_CUDNN
    except RuntimeError as error:
        let_through(error)
        return None, f"cuDNN: {error}".partition("\n")[0]


def dotted(number: int) -> str:
    """``91002`` → ``9.10.2``, ``8902`` → ``8.9.2``: cuDNN 9 gave the minor version two digits (cudnn_version.h)."""
    major, rest = divmod(number, 10_000 if number >= 90_000 else 1_000)
    return f"{major}.{rest // 100}.{rest % 100}"
