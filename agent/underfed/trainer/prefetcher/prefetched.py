"""An iterable over a loader's batches on a device: through a copy stream on CUDA, plainly elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from underfed.errors import ConfigError, TorchMissingError
from underfed.host.signal_handlers import let_through
from underfed.trainer.batch import moved
from underfed.trainer.device import cuda
from underfed.trainer.prefetcher.copy_stream import Streams, Transform
from underfed.trainer.prefetcher.passes import Pass


class Prefetched:
    """Each ``iter()`` is a new pass over ``loader``; ``len()`` is the loader's."""

    def __init__(self, loader: Iterable[Any], device: Any, transform: Transform | None) -> None:
        self.loader = loader
        self.device = device
        self.transform = transform

    def __iter__(self) -> Iterator[Any]:
        if self.device.type == "cuda":
            streams = cuda_streams(self.device)
            return Pass(iter(self.loader), streams, self.transform)
        batches = iter(self.loader)
        if self.device.type != "cpu":
            batches = map(partial(moved, device=self.device, non_blocking=False), batches)
        return map(self.transform, batches) if self.transform is not None else batches

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]


def prefetched(loader: Iterable[Any], device: Any, transform: Transform | None) -> Prefetched:
    """See ``underfed.prefetch``."""
    try:
        import torch
    except ImportError as error:
        raise TorchMissingError(f"prefetch() copies PyTorch's tensors, and PyTorch is missing: {error}") from error
    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError) as error:
        let_through(error)
        raise ConfigError(f"prefetch() takes a device such as 'cuda', got {device!r}") from error
    if wanted.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"prefetch() to {wanted}: PyTorch finds no CUDA device here")
    return Prefetched(loader, wanted, transform)


def cuda_streams(device: Any) -> Streams:
    import torch

    return cuda.source_of(torch, torch.cuda.current_device() if device.index is None else device.index)
