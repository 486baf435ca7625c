"""The wait taken apart: what the judged steps lost to input, in parts that add up to it.

What a step lost is divided in the order in which it passes, on the clocks of its own batch:

* *start-up*: what an epoch's first step waits beyond the others, while workers start and the queue is empty;
* *loading*: until the batch is loaded. The part of it in which later batches were ready is *held back*: batches are
  delivered in order;
* *pin* and *delivery*: from loaded to given, copying into page-locked memory and all else of the hand-over;
* *sampler*: the sampler, which runs in the training process.

Where the workers cannot keep up anyway, a faster hand-over gains nothing: the loop would only wait longer for the next
batch. So what workers at their mean speed cannot load in time stays with loading, and the other parts share the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from underfed_server.diagnosis.measures import mean
from underfed_server.facts.record import RankFacts, epoch_starts
from underfed_server.measurements import Column, or_zero
from underfed_server.model import LoaderInfo

BUSY_PIN_FRACTION = 0.85
"""Share of the time from which the pin thread has no reserve: batches that it has not begun then wait as well."""


@dataclass(frozen=True, slots=True, eq=False)
class Wait:
    """Shares of step time that add up to the stall. ``None``: not measured, and its share stays in ``loading``."""

    startup: float
    sampler: float | None
    delivery: float | None
    pin: float | None
    held_back: float | None
    loading: float
    weights: Column
    """How long the loop waited for each recorded batch to be loaded, in microseconds lost."""


@dataclass(frozen=True, slots=True, eq=False)
class _Handed:
    """For each step, parts of its wait for the batch, in microseconds; all 0 where the batch is not known."""

    row: NDArray[np.intp]
    """Where the batch is recorded; -1: it is not."""
    held_us: Column
    pin_us: Column
    delivery_us: Column

    @property
    def movable_us(self) -> Column:
        """What a faster hand-over, or one in any order, could save."""
        return self.held_us + self.pin_us + self.delivery_us


def split_wait(rank: RankFacts, loader: LoaderInfo | None) -> Wait:
    """``rank``: one with judged steps."""
    steps = rank.steps
    lost = _lost_share(rank)
    total = float(np.sum(steps.step_us))
    startup, sampler = _beside_loading(rank, loader)
    left = np.maximum(0.0, steps.data_wait_us - startup - sampler)
    handed = _hand_over(rank, loader, startup, left)
    scale = _movable_share(rank, loader, left, handed.movable_us)
    loading = (left - scale * handed.movable_us) * lost
    measured = bool((handed.row >= 0).any()) and bool(loader and loader.num_workers)

    def share(part_us: Column, factor: float = 1.0) -> float:
        return factor * float(np.sum(part_us * lost)) / total

    return Wait(
        startup=share(startup),
        sampler=share(sampler) if _has_sampler(rank) else None,
        delivery=share(handed.delivery_us, scale) if measured else None,
        pin=share(handed.pin_us, scale) if measured and np.isfinite(rank.batches.pin_us).any() else None,
        held_back=share(handed.held_us, scale) if measured else None,
        loading=float(np.sum(loading)) / total,
        weights=_weights(handed.row, loading, len(rank.batches)),
    )


def _lost_share(rank: RankFacts) -> Column:
    """Of each step's wait, what the device's clock confirms; all of it where there is none."""
    wait = rank.steps.data_wait_us
    return np.clip(np.divide(rank.stalled_us, wait, out=np.zeros(len(wait)), where=wait > 0), 0.0, 1.0)


def _has_sampler(rank: RankFacts) -> bool:
    at_begin = any(epoch.sampler_us is not None for epoch in rank.epochs)
    return at_begin or bool(np.isfinite(rank.steps.sampler_us).any())


def _beside_loading(rank: RankFacts, loader: LoaderInfo | None) -> tuple[Column, Column]:
    """``(start-up, sampler)`` of each step. Sampler time while an epoch begins is no start-up."""
    steps = rank.steps
    startup = startup_us(rank, loader)
    begun = np.minimum(startup, np.where(epoch_starts(steps), of_its_epoch(rank, "sampler_us"), 0.0))
    startup = startup - begun
    sampler = begun + or_zero(steps.sampler_us)
    return startup, np.minimum(sampler, steps.data_wait_us - startup)


def _hand_over(rank: RankFacts, loader: LoaderInfo | None, startup: Column, left: Column) -> _Handed:
    steps, nothing = rank.steps, np.zeros(len(left))
    row = _awaited_rows(rank)
    if not loader or not loader.num_workers or not len(rank.batches):
        return _Handed(row, nothing, nothing, nothing)
    begin = steps.start_us + startup
    ready, later = _ready_us(rank)
    unloaded = np.where(row < 0, left, np.clip(ready[row] - begin, 0.0, left))
    unloaded = np.where(np.isfinite(unloaded), unloaded, left)
    after = left - unloaded
    held = np.clip(ready[row] - np.maximum(begin, later[row]), 0.0, unloaded)
    is_held = (row >= 0) & np.isfinite(held) & (loader.settings.get("in_order") is not False)
    pin = np.where(row < 0, 0.0, or_zero(rank.batches.pin_us)[row])
    pin = np.minimum(after, np.maximum(pin, after * _saturated_pin(rank)))
    return _Handed(row, np.where(is_held, held, 0.0), pin, after - pin)


def _awaited_rows(rank: RankFacts) -> NDArray[np.intp]:
    """Which recorded batch each step waited for: its own, or the next where batches are asked for one ahead."""
    steps, received = rank.steps, rank.batches.received_us
    row = rows_of_steps(rank)
    if not len(rank.batches):
        return row
    following = np.append(row[1:], -1)
    came_before = (row >= 0) & (received[row] < steps.start_us)
    arrival = received[following]
    came_within = (following >= 0) & (arrival >= steps.start_us) & (arrival <= steps.start_us + steps.data_wait_us)
    return np.where(came_before & came_within, following, row)


def rows_of_steps(rank: RankFacts) -> NDArray[np.intp]:
    """Where the batch with each step's number is recorded; -1: it is not."""
    steps, batches = rank.steps, rank.batches
    known = _keys(batches.epoch_index, batches.batch_index)
    if not len(known):
        return np.full(len(steps), -1, dtype=np.intp)
    order = np.argsort(known, kind="stable")
    wanted = _keys(steps.epoch_index, steps.batch_index)
    place = np.maximum(0, np.searchsorted(known[order], wanted, side="right") - 1)
    return np.where(known[order][place] == wanted, order[place], -1)


def _keys(epoch_index: Column, batch_index: Column) -> Column:
    return epoch_index * 2.0**32 + batch_index


def _ready_us(rank: RankFacts) -> tuple[Column, Column]:
    """When each batch was loaded, and when the first of those after it was: those of a later epoch are later anyway."""
    batches = rank.batches
    if not len(batches):
        return np.full(1, np.nan), np.full(1, np.nan)
    ready = batches.start_us + batches.load_us
    order = np.argsort(_keys(batches.epoch_index, batches.batch_index), kind="stable")
    first_from = np.fmin.accumulate(ready[order][::-1])[::-1]
    later = np.full(len(ready), np.nan)
    later[order[:-1]] = first_from[1:]
    return ready, later


def _saturated_pin(rank: RankFacts) -> float:
    """Share of the time that the pin thread copies, where it has no reserve; 0 where it has."""
    busy = (mean(rank.batches.pin_us) or 0.0) / rank.step_us
    return min(1.0, busy) if busy >= BUSY_PIN_FRACTION else 0.0


def _movable_share(rank: RankFacts, loader: LoaderInfo | None, left: Column, movable: Column) -> float:
    """The share of ``movable`` that is not a wait for workers which load at their mean speed anyway."""
    wanted = float(np.sum(movable))
    if not loader or not loader.num_workers or wanted <= 0:
        return 0.0
    steps, loads = rank.steps, rank.batches.load_us[np.isfinite(rank.batches.load_us)]
    own = float(np.mean(rank.rests_us + or_zero(steps.sampler_us)))
    short = max(0.0, float(np.mean(loads)) / loader.num_workers - own) * len(steps)
    return min(1.0, max(0.0, float(np.sum(left)) - short) / wanted)


def _weights(row: NDArray[np.intp], loading: Column, batches: int) -> Column:
    weights = np.zeros(batches)
    np.add.at(weights, row[row >= 0], loading[row >= 0])
    return weights


def startup_us(rank: RankFacts, loader: LoaderInfo | None) -> Column:
    """Of each step's wait; 0 but for the first steps of epochs.

    Without workers the first batch is loaded like any other, and only constructing the iterator is start-up.
    """
    steps = rank.steps
    wait, is_first = steps.data_wait_us, epoch_starts(steps)
    excess: Column = np.where(is_first, np.maximum(0.0, wait - _typical_wait_us(rank)), 0.0)
    return excess if loader and loader.num_workers else np.minimum(excess, of_its_epoch(rank, "iterator_us"))


def of_its_epoch(rank: RankFacts, name: Literal["iterator_us", "sampler_us"]) -> Column:
    """What was measured of the epoch that each step is in; 0: nothing was."""
    known = {epoch.epoch_index: float(getattr(epoch, name) or 0) for epoch in rank.epochs}
    return np.array([known.get(int(epoch), 0.0) for epoch in np.nan_to_num(rank.steps.epoch_index, nan=-1.0)])


def _typical_wait_us(rank: RankFacts) -> float:
    """Of a step within an epoch; where each epoch is a single step, of a load."""
    within = rank.steps.data_wait_us[~epoch_starts(rank.steps)]
    return float(np.mean(within)) if len(within) else mean(rank.batches.load_us) or 0.0


def lasting_share(rank: RankFacts, loader: LoaderInfo | None) -> float:
    """Share of start-up that filling the empty queue takes, a usual load: persistent workers do not save it."""
    excess = startup_us(rank, loader)
    loads = rank.batches.load_us[np.isfinite(rank.batches.load_us)]
    total = float(np.sum(excess))
    if total <= 0 or not len(loads):
        return 0.0
    filling = max(0.0, float(np.median(loads)) - _typical_wait_us(rank))
    return float(np.sum(np.minimum(excess, filling))) / total


def epochs_begun(rank: RankFacts) -> int:
    """Within the judged steps."""
    return int(np.count_nonzero(epoch_starts(rank.steps)))


def mean_startup_us(rank: RankFacts, loader: LoaderInfo | None) -> float | None:
    """Of an epoch that began within the judged steps."""
    begun = epochs_begun(rank)
    return float(np.sum(startup_us(rank, loader))) / begun if begun else None


def mean_iterator_us(rank: RankFacts) -> float | None:
    """Constructing the iterator, starting workers included; ``None``: it was kept, or not measured."""
    judged = set(np.unique(rank.steps.epoch_index[epoch_starts(rank.steps)]))
    constructed = [
        each.iterator_us for each in rank.epochs if each.iterator_us is not None and each.epoch_index in judged
    ]
    return sum(constructed) / len(constructed) if constructed else None
