"""How much longer the CPU work of a load takes beside other busy processes, read off a run that had more and fewer.

Work that leaves the caches shares the memory: the same batch cost 168 ms of CPU in one process and 239 in each of two
(own study), where work that stays in a core's own cache costs the same in both. The host's calibration knows the ends,
work within the cache and work without one; where a load lies between them only the run shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from underfed_server.advice.prediction.processor import Slowdown, curve_through
from underfed_server.diagnosis.measures import mean, other_cores, own_cores, until
from underfed_server.facts.record import HostShare, RankFacts
from underfed_server.measurements import Column
from underfed_server.model import LoaderInfo

SPREAD = 0.3
"""Busy processes by which the tenth of the loads with the most company and that with the least differ at least."""

GROUPS = 12
FEW_BATCHES = 8
"""In each group: of eight, one that was disturbed is left out at either end."""

BLOCKS = 8
"""Of consecutive loads, left out in turn to see how precisely the growth is known."""

CONFIDENCE = 1.64
"""Standard errors that hold nine of ten."""

CERTAIN = 0.30
"""A growth that is known no better than so much of the CPU time, at all cores, is taken for unknown."""

FEARED = 0.65
"""All cores busy against one, of the load that grew most with company: × 1.15 to × 1.4 was gained of × 2.0, part of it
for other reasons. Copying does not show all of that: work that waits for memory, and not for its bandwidth, grows as
well."""

USUAL_BYTES_PER_S = 10e9
"""What one core copies, where that was not measured."""

CROSSINGS = 8.0
"""How often a byte of a batch goes through memory until it is one: read, decoded, converted, collated, shared."""

LEAST_SHARE = 0.7
"""Of work without caches, that may be in any load: what it reads and leaves no byte of in its batch is not known. A
whole load grew by 42 %."""


@dataclass(frozen=True, slots=True)
class Company:
    """``shape``: by busy cores, what ``growth`` of 1 adds to a CPU time of 1; 0 for one.

    ``growth``: how much of ``shape`` this loading has. ``lowest`` and ``highest``: what it may have.
    """

    shape: Slowdown
    growth: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0
    is_seen: bool = False

    def factor(self, busy: float) -> float:
        return 1.0 + self.growth * self.shape(max(1.0, busy))

    def ends(self) -> list[Company]:
        """The same with the least and the most growth, as far as they differ from it."""
        return [replace(self, growth=end) for end in (self.lowest, self.highest) if end != self.growth]


def read_company(rank: RankFacts, loader: LoaderInfo, host: HostShare, mates: Sequence[RankFacts]) -> Company:
    """What the host's calibration knows is not counted twice."""
    cores = max(1.0, host.usable_cores or 1.0)
    calibrated = _of_memory(host)

    def feared(busy: float) -> float:
        return max(calibrated(busy), FEARED * (busy - 1.0) / max(1.0, cores - 1.0))

    seen = _seen(rank, host, mates, cores)
    return seen or Company(feared, highest=_share_without_caches(rank, loader, host))


def busy_beside(rank: RankFacts, mates: Sequence[RankFacts], within_us: float = np.inf) -> Column:
    """Of each batch, how many other processes computed while it was loaded, on average: workers of all ranks of the
    host, and their training loops. ``within_us``: only so long from its beginning. NaN: not measured."""
    return _beside(rank, mates, _timeline([rank, *mates]), within_us)


Timeline = tuple[Column, Column]
"""Instants, and the CPU time that was computed until then."""


def _beside(rank: RankFacts, mates: Sequence[RankFacts], timeline: Timeline, within_us: float) -> Column:
    (at, busy), batches = timeline, rank.batches
    lasted = np.maximum(1.0, np.minimum(batches.load_us, within_us))
    begun, done = batches.start_us, batches.start_us + lasted
    if not len(at):
        return np.full(len(batches), np.nan)
    total = (np.interp(done, at, busy) - np.interp(begun, at, busy)) / lasted
    own = np.clip(batches.cpu_us / np.maximum(batches.load_us, 1.0), 0.0, 1.0)
    strangers = (other_cores(rank.process) or 0.0) - sum(own_cores(mate.process) for mate in mates)
    others: Column = np.maximum(0.0, total - own) + max(0.0, strangers)
    return others


def _timeline(ranks: Sequence[RankFacts]) -> Timeline:
    """Each span's CPU time is spread evenly over it."""
    spans = [_loading(rank) for rank in ranks] + [_training(rank) for rank in ranks]
    begun, lasted, share = (np.concatenate([span[part] for span in spans]) for part in range(3))
    known = np.isfinite(begun) & (lasted > 0) & np.isfinite(share)
    return until(begun[known], lasted[known], share[known])


Spans = tuple[Column, Column, Column]
"""Starts, durations, and the share of each that is computed."""


def _loading(rank: RankFacts) -> Spans:
    batches = rank.batches
    return batches.start_us, batches.load_us, np.clip(batches.cpu_us / np.maximum(batches.load_us, 1.0), 0.0, 1.0)


def _training(rank: RankFacts) -> Spans:
    """The steps without their waits. A loop that loads computes the rest of what its process does."""
    steps, used = rank.steps, rank.process.process_cores
    loads = 0.0 if np.isfinite(rank.batches.worker).any() else float(np.nansum(rank.batches.cpu_us))
    worked = float(np.sum(rank.rests_us))
    if used is None or worked <= 0:
        return (np.empty(0),) * 3
    share = min(1.0, max(0.0, used * float(np.sum(steps.step_us)) - loads) / worked)
    return steps.start_us + steps.data_wait_us, rank.rests_us, np.full(len(steps), share)


def _of_memory(host: HostShare) -> Slowdown:
    """What copying takes longer than work within the caches, as far as that was measured on the host."""
    if not host.memory_slowdown or not host.cpu_slowdown:
        return lambda _busy: 0.0
    within, without = (curve_through(points, 1.0) for points in (host.cpu_slowdown, host.memory_slowdown))
    return lambda busy: max(0.0, without(busy) / within(busy) - 1.0)


def _each_more(busy: float) -> float:
    return busy - 1.0


def _share_without_caches(rank: RankFacts, loader: LoaderInfo, host: HostShare) -> float:
    """The most of a load that is such work, by the bytes of its batch for each second that it computes."""
    cpu_us = mean(rank.batches.cpu_us)
    if not cpu_us or not loader.batch_bytes:
        return LEAST_SHARE
    bytes_per_s = CROSSINGS * loader.batch_bytes / cpu_us * 1e6
    return float(np.clip(bytes_per_s / (host.memory_bytes_per_s or USUAL_BYTES_PER_S), LEAST_SHARE, 1.0))


def _seen(rank: RankFacts, host: HostShare, mates: Sequence[RankFacts], cores: float) -> Company | None:
    """``None``: the run does not show it."""
    batches = rank.batches
    loads_us = batches.load_us[np.isfinite(batches.load_us)]
    if not len(loads_us):
        return None
    # A long load outlasts its company: what it meets at first does not depend on how long it takes.
    timeline = _timeline([rank, *mates])
    first, beside = (_beside(rank, mates, timeline, us) for us in (float(np.quantile(loads_us, 0.1)), np.inf))
    usual = np.isnan(batches.samples) | (batches.samples == np.nanmax(np.append(batches.samples, 0.0)))
    known = usual & np.isfinite(beside) & np.isfinite(first) & (batches.cpu_us > 0)
    busy = np.minimum(cores, 1.0 + beside[known])
    if len(busy) < 2 * FEW_BATCHES or np.subtract(*np.quantile(busy, (0.9, 0.1))) < SPREAD:
        return None
    within = curve_through(host.cpu_slowdown, 1.0) if host.cpu_slowdown else None
    cost = batches.cpu_us[known] / (np.array([within(each) for each in busy]) if within else 1.0)
    more, most = busy - 1.0, cores - 1.0
    first = first[known]
    growth = _growth(first, more, cost)
    parts = np.array_split(np.arange(len(busy)), BLOCKS)
    without = [_growth(*(np.delete(each, part) for each in (first, more, cost))) for part in parts]
    if growth is None or any(each is None for each in without):
        return None
    left_out = np.array(without, dtype=np.float64)
    error = float(np.sqrt((BLOCKS - 1) / BLOCKS * np.sum((left_out - np.mean(left_out)) ** 2)))
    reach = CONFIDENCE * error
    # Loads that take longer with less company differ by what they load, which hides what company does.
    if growth + reach < 0 or reach * most > CERTAIN * (1.0 + max(0.0, growth) * most):
        return None
    return Company(_each_more, max(0.0, growth), max(0.0, growth - reach), max(0.0, growth + reach), is_seen=True)


def _growth(first: Column, more: Column, cost: Column) -> float | None:
    """Slope of the cost over its intercept, through the means of groups that began in alike company, without their
    fifths at either end.

    ``None``: the groups lie too close together for a line.
    """
    groups = np.array_split(np.argsort(first, kind="stable"), min(GROUPS, len(first) // FEW_BATCHES))
    at = np.array([np.mean(more[group]) for group in groups])
    usual = np.array([_middle(cost[group]) for group in groups])
    spread = float(np.sum((at - np.mean(at)) ** 2))
    if len(groups) < 2 or spread <= 0:
        return None
    slope = float(np.sum((at - np.mean(at)) * (usual - np.mean(usual)))) / spread
    alone = float(np.mean(usual)) - slope * float(np.mean(at))
    return slope / alone if alone > 0 else None


def _middle(values: Column) -> float:
    cut = len(values) // 5
    return float(np.mean(np.sort(values)[cut : len(values) - cut]))
