"""A window on its way into the store, and the answer to it.

They are structs, as all that is made for each window is: a frozen data class takes ten times as long to make.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from underfed_server.errors import RequestError
from underfed_server.ingest.wire import Window


class PostedWindow(Struct, frozen=True, gc=False):
    """A window as it was posted: decoded, and the bytes that are kept."""

    window: Window
    encoding: str
    """``gzip``, ``deflate`` or empty."""
    body: bytes
    project: str | None = None
    """The only project that its run may belong to; ``None``: any."""
    decoded_bytes: int = 0
    """What the decoded window takes in memory, at most."""

    @property
    def held_bytes(self) -> int:
        """What it takes while it waits."""
        return len(self.body) + self.decoded_bytes


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """What was last judged of a run over all of its ranks, as the list of runs has it."""

    bound: str
    level: str
    cause: str | None
    data_stall_fraction: float | None
    max_data_stall_fraction: float | None
    """Of the rank that loses the largest share; the others, too, are each of the rank in which it is largest."""
    max_data_wait_us: int | None
    max_data_wait_p95_us: int | None
    max_queue_empty_fraction: float | None


class Ack(Struct, frozen=True, gc=False):
    """The window is on disk."""

    next_window_index: int
    wants_run: bool
    """The service does not know the run or one of its loaders: the agent must describe them again."""
    is_new: bool
    """``False``: it had been stored before."""
    candidates: Sequence[Any] = ()
    """What its loaders are to try, where the window asks for that: as :class:`model.Candidates` is in JSON."""
    verdict: RunVerdict | None = None
    """``None``: there is none yet."""
    verdict_age_us: int | None = None
    """Since what the verdict is on began to be read: windows that were on disk before are in it."""
    switch: Mapping[str, Any] | None = None
    """What the run's other hosts sent about switching at the same step, where the window asks for that."""


Outcome = Ack | RequestError
