"""What each pass costs beside its steps: starting its workers, filling their queue, ending them."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from underfed.trainer.tuning.blocks import Block
from underfed.trainer.tuning.loader_setting import LoaderSetting

REMEMBERED = 16
"""Passes under one setting."""


class Starts(NamedTuple):
    """Of workers, each time that a pass began."""

    passes: int
    pass_ns: float
    """Of one, with their end."""


@dataclass(slots=True, eq=False)
class Edges:
    """Of passes under one setting."""

    beginnings: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """Nanoseconds until a step was measured, and the steps within them."""
    ends_ns: deque[int] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """Of the requests that found no more batches."""
    start_ns: int = 0
    """Of its workers, as it was first switched to: what a pass costs as long as none began with it."""
    firsts: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """Nanoseconds for which the iterator was constructed, and the first batch waited for."""
    passes: int = 0
    """That torch began under it."""


@dataclass(slots=True, eq=False)
class Passes:
    """Of one loader."""

    _edges: dict[LoaderSetting, Edges] = field(default_factory=dict)
    _began: tuple[LoaderSetting, int] | None = None
    """The pass of which no step was measured yet."""
    _count: int = 0

    def began(self, setting: LoaderSetting, now_ns: int) -> None:
        self._began = setting, now_ns
        self._count += 1

    def started(self, setting: LoaderSetting, start_ns: int) -> None:
        if not setting.persistent_workers:
            self._of(setting).start_ns = start_ns

    def measured(self, setting: LoaderSetting, now_ns: int, steps: int) -> int | None:
        """The first step of a pass that is measured begins, after so many. Returns what the beginning took; ``None``:
        it began under another setting, or was measured already."""
        began, self._began = self._began, None
        if began is None or began[0] != setting:
            return None
        took = now_ns - began[1]
        # What a data set sets up with its first sample is of no pass.
        if self._count > 1 or setting.num_workers:
            self._of(setting).beginnings.append((took, steps))
        return took

    def ended(self, setting: LoaderSetting, took_ns: int) -> None:
        self._of(setting).ends_ns.append(took_ns)

    def began_with(self, setting: LoaderSetting, construct_ns: int, first_wait_ns: int) -> None:
        edges = self._of(setting)
        edges.firsts.append((construct_ns, first_wait_ns))
        edges.passes += 1

    def starts(self, setting: LoaderSetting, step_ns: float) -> Starts | None:
        """``step_ns``: of a step in the midst of a pass. ``None``: of no pass, or workers persist."""
        edges, workers = self._of(setting), setting.num_workers
        if not edges.firsts or not workers or setting.persistent_workers:
            return None
        # All workers load at once, and none faster than one batch in as many steps: more than that is of their start.
        began = [construct + max(0.0, waited - workers * step_ns) for construct, waited in edges.firsts]
        return Starts(edges.passes, statistics.fmean(began) + statistics.fmean(edges.ends_ns or [0]))

    def cost_ns(self, setting: LoaderSetting, step_ns: float) -> float:
        """Of a pass, beside its steps of this length."""
        edges = self._of(setting)
        begins = [took - steps * step_ns for took, steps in edges.beginnings] or [edges.start_ns]
        return statistics.median(begins) + statistics.median(edges.ends_ns or [0])

    def add_to(self, blocks: Sequence[Block], setting: LoaderSetting, steps: int | None) -> None:
        """Each step of these blocks bears its part of that. ``steps``: of a pass; ``None``: not known."""
        units = [each for block in blocks for each in block.unit_ns]
        if steps and units:
            share = self.cost_ns(setting, statistics.fmean(units)) / steps
            for block in blocks:
                block.pass_ns = share

    def _of(self, setting: LoaderSetting) -> Edges:
        return self._edges.setdefault(setting, Edges())
