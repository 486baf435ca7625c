"""In which functions loading spends its time in one run and in another, and where that differs by more than chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from underfed_server.comparison.side import Side
from underfed_server.comparison.wording import Per
from underfed_server.facts.hotspots import counted, most_first
from underfed_server.facts.loading import LEAST_SAMPLES, looks_in
from underfed_server.facts.share_of_looks import Whole, whole_of
from underfed_server.model import ComparedHotspot, Stage
from underfed_server.store.reading.stacks import Looks, Samples, none_seen

Function = tuple[str, str]
"""And its file. Lines move when code is edited."""

Key = tuple[Stage, Function]

_Changed = tuple[float, float, float]
"""Of the function itself, with what it calls, and its largest share. Where a function changes its callers do, too."""

LEAST_FRACTION = 0.01
"""Of loading, in one of the runs."""

MOST_HOTSPOTS = 100

MARGINS = 1.5
"""That a change must exceed, three standard errors: beyond one, one of twenty functions changes by chance."""

NOTICEABLE_FRACTION = 0.02
"""Of the loading in the first run. A change that is smaller is none, however often it was looked."""


@dataclass(frozen=True, slots=True)
class _Share:
    """Of one function in one run."""

    own: Looks
    total: Looks
    line: int | None


@dataclass(frozen=True, slots=True)
class _Sampled:
    """One run. ``load_us``: what a step, or a sample, takes to load; ``None``: not measured."""

    shares: Mapping[Key, _Share]
    whole: Whole
    load_us: float | None

    def of(self, key: Key) -> _Share:
        return self.shares.get(key, _Share(none_seen(), none_seen(), None))

    def own_fraction(self, key: Key) -> float:
        return self.whole.share(self.of(key).own)

    def total_fraction(self, key: Key) -> float:
        return self.whole.share(self.of(key).total)

    def us(self, fraction: float) -> float | None:
        return None if self.load_us is None else round(self.load_us * fraction, 1)


def hotspots_of(sides: Sequence[Side], per: Per) -> list[ComparedHotspot]:
    runs = [_sampled(side, per) for side in sides]
    keys = dict.fromkeys(key for run in runs if run for key in run.shares if run.total_fraction(key) >= LEAST_FRACTION)
    found = [_compared(key, runs) for key in keys]
    found.sort(key=lambda each: each[1], reverse=True)
    return [hotspot for hotspot, _ in found[:MOST_HOTSPOTS]]


def _sampled(side: Side, per: Per) -> _Sampled | None:
    if looks_in(side.samples) < LEAST_SAMPLES:
        return None
    load_us = _load_us(side)
    if load_us is not None and per == "samples":
        load_us = load_us / side.batch if side.batch else None
    return _Sampled(_shares(side.samples), whole_of(side.samples.values()), load_us)


def _load_us(side: Side) -> float | None:
    """Of a batch, in the mean of the compared rank."""
    if side.steps is None:
        return None
    known = side.steps.batches.load_us[np.isfinite(side.steps.batches.load_us)]
    return float(np.mean(known)) if len(known) else None


def _shares(samples: Samples) -> Mapping[Key, _Share]:
    own, total = counted(samples, lambda place: (place[0], place[1]))
    _, lines = counted(samples, lambda place: place)
    at: dict[Key, int | None] = {}
    for stage, (function, file, line) in most_first(lines):
        at.setdefault((stage, (function, file)), line)
    return {key: _Share(own[key], looks, at[key]) for key, looks in total.items()}


def _compared(key: Key, runs: Sequence[_Sampled | None]) -> tuple[ComparedHotspot, _Changed]:
    stage, (function, file) = key
    first = runs[0]
    changes = [_change(key, first, run) for run in runs[1:] if first and run]
    hotspot = ComparedHotspot(
        function=function,
        file=file,
        stage=stage,
        lines=[run.of(key).line if run else None for run in runs],
        self_fractions=[round(run.own_fraction(key), 4) if run else None for run in runs],
        total_fractions=[round(run.total_fraction(key), 4) if run else None for run in runs],
        self_us=[run.us(run.own_fraction(key)) if run else None for run in runs],
        total_us=[run.us(run.total_fraction(key)) if run else None for run in runs],
        differs=any(map(any, changes)),
    )
    own, total = (max(parts, default=0.0) for parts in (zip(*changes, strict=True) if changes else ((), ())))
    return hotspot, (own, total, max(run.total_fraction(key) for run in runs if run))


def _change(key: Key, before: _Sampled, after: _Sampled) -> tuple[float, float]:
    """Of the function itself, and with what it calls, in parts of the first run's loading; 0: by no more than chance.
    That something else became quicker makes a share grow, and no time."""
    scale = after.load_us / before.load_us if before.load_us and after.load_us else 1.0
    earlier, later = before.of(key), after.of(key)

    def change(old: Looks, new: Looks) -> float:
        changed = abs(after.whole.share(new) * scale - before.whole.share(old))
        margins = before.whole.chance(old), after.whole.chance(new)
        if None in margins:
            return 0.0
        chance = MARGINS * math.hypot(margins[0] or 0.0, scale * (margins[1] or 0.0))
        return changed if changed > max(NOTICEABLE_FRACTION, chance) else 0.0

    return change(earlier.own, later.own), change(earlier.total, later.total)
