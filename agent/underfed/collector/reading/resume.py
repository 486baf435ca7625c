"""What the next collector of a run must know to go on where this one stopped; kept with each window in the spool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from underfed.collector.reading.steps import OpenEpoch
from underfed.collector.wire import Losses


@dataclass(frozen=True, slots=True)
class LoaderResume:
    next_step: int = 0
    open_epochs: list[OpenEpoch] = field(default_factory=list)
    passes: list[tuple[int, int, int]] = field(default_factory=list)
    """``(iterator, its pass, epoch)``."""
    shape: tuple[int, int] | None = None
    """Tensors and bytes of a first batch."""
    repeats: tuple[int, int] | None = None
    """Batches of an iterable data set that were compared, and those that two workers gave."""
    dtypes: Mapping[str, int] = field(default_factory=dict)
    """Bytes of the first batch's tensors by their type."""
    fits_uint8: bool | None = None


@dataclass(frozen=True, slots=True)
class WorkerResume:
    """A worker that runs, or whose end was not seen yet."""

    loader: int
    iterator: int
    worker: int
    start_us: int | None = None
    epoch_index: int | None = None


@dataclass(frozen=True, slots=True)
class Resume:
    """State of one rank's stream after the window that it is stored with."""

    next_index: int = 0
    kept_index: int | None = None
    """Of the last window that is, or was, in the spool."""
    end_us: int = 0
    has_left: bool = False
    """All records were read: the process has marked its end, or is gone."""
    has_ended: bool = False
    positions: Mapping[str, int] = field(default_factory=dict)
    """Ring file → next record."""
    loaders: Mapping[int, LoaderResume] = field(default_factory=dict)
    workers: list[WorkerResume] = field(default_factory=list)
    losses: Losses = field(default_factory=Losses)
    """Including records that this collector has read and not put into a window: they are lost if it is killed."""


def from_json(part: Mapping[str, Any]) -> Resume:
    """The inverse of ``wire.as_json``, which leaves out what is ``None``."""
    loaders = {int(index): _loader(loader) for index, loader in part["loaders"].items()}
    workers = [WorkerResume(**worker) for worker in part["workers"]]
    return Resume(**{**part, "loaders": loaders, "workers": workers, "losses": Losses(**part["losses"])})


def _loader(part: Mapping[str, Any]) -> LoaderResume:
    pairs = {name: tuple(part[name]) for name in ("shape", "repeats") if name in part}
    passes = [(iterator, pass_index, epoch) for iterator, pass_index, epoch in part["passes"]]
    open_epochs = [OpenEpoch(**epoch) for epoch in part["open_epochs"]]
    return LoaderResume(**{**part, "open_epochs": open_epochs, "passes": passes, **pairs})
