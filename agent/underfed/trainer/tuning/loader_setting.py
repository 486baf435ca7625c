"""What of a loader ``--tune`` may change, as one value: read from an iterator, and compared by what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from underfed.exchange.config import Value
from underfed.trainer.settings.overrides import PREFETCH_FACTOR

TRIED = ("num_workers", "prefetch_factor", "pin_memory", "threads_per_worker")
"""Settings that a trial may change. Not ``in_order``, which changes the order of batches, nor ``persistent_workers``:
such workers keep the data set as it was when they were started."""


@dataclass(frozen=True, slots=True)
class LoaderSetting:
    """Of one iterator. ``prefetch_factor`` and ``threads_per_worker`` are ``None`` without workers."""

    num_workers: int
    prefetch_factor: int | None = None
    pin_memory: bool = False
    persistent_workers: bool = False
    in_order: bool = True
    threads_per_worker: int | None = None
    """``None``: as torch has it."""

    @property
    def capacity(self) -> int:
        """Batches that may be loaded ahead."""
        return self.num_workers * (self.prefetch_factor or 0)

    @property
    def cost(self) -> tuple[int, int, bool]:
        """By which of two settings that are as fast the cheaper one is known: processes, memory, page-locked memory."""
        return self.num_workers, self.capacity, self.pin_memory

    def changed(self, settings: Mapping[str, Value]) -> LoaderSetting:
        """With those of these settings that may be tried; what needs workers goes with them."""
        known: Any = {name: value for name, value in settings.items() if name in TRIED and value is not None}
        other = replace(self, **known)
        if not other.num_workers:
            return replace(other, prefetch_factor=None, persistent_workers=False, threads_per_worker=None)
        return replace(other, prefetch_factor=other.prefetch_factor or PREFETCH_FACTOR)

    def settings(self) -> dict[str, Value]:
        """As the facts of a loader have them."""
        found: dict[str, Value] = asdict(self)
        return {name: value for name, value in found.items() if name != "threads_per_worker" or value is not None}

    def difference(self, other: LoaderSetting) -> dict[str, tuple[Value, Value]]:
        """What is another in ``other``: here and there. A number of batches ahead that only follows from the number of
        workers is none."""
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in TRIED}
        found = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
        is_default = {self.prefetch_factor, other.prefetch_factor} <= {None, PREFETCH_FACTOR}
        return {name: pair for name, pair in found.items() if name != "prefetch_factor" or not is_default}


def setting_of(iterator: Any, threads: int | None) -> LoaderSetting:
    """Of an iterator of torch's. ``threads``: of each of its workers."""
    workers = iterator._num_workers
    return LoaderSetting(
        num_workers=workers,
        prefetch_factor=iterator._prefetch_factor if workers else None,
        pin_memory=bool(iterator._pin_memory),
        persistent_workers=bool(workers and iterator._persistent_workers),
        in_order=bool(getattr(iterator, "_in_order", True)),
        threads_per_worker=threads if workers else None,
    )
