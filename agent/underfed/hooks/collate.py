"""Times a collate function and counts the samples it is given, in a worker and with ``num_workers=0`` alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from underfed.clock import now_ns


class TimedCollate:
    """Stands in for ``collate_fn`` inside torch's fetcher, where no user looks; the loader keeps its own.

    While ``is_timing`` is off it only calls. An error in the user's function shows one frame of ours.
    """

    __slots__ = ("collate", "elapsed_ns", "is_timing", "samples")

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self.collate = collate
        self.is_timing = True
        self.elapsed_ns = 0
        self.samples = 0

    def __call__(self, samples: Any) -> Any:
        if not self.is_timing:
            return self.collate(samples)
        started = now_ns()
        batch = self.collate(samples)
        self.elapsed_ns += now_ns() - started
        self.samples += len(samples) if isinstance(samples, list) else 1
        return batch

    def begin(self) -> None:
        self.is_timing = True
        self.elapsed_ns = self.samples = 0
