"""What storage gives to few and to many loads at once: read off a run in which their number changed.

Where blocked time does not depend on how many load, each new reader brings its own rate. Where it grows as they do, all
readers together get no more: the storage, or what leads to it, is at its limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from underfed_server.diagnosis.measures import READS_BYTES, load_share, mean, reads_network, until
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.places import storage_place, unique_name
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.measurements import BatchRows, Column, chosen, or_zero
from underfed_server.model import ReadRate, StoragePlace

SPREAD = 1.5
"""Many loads at once are at least so many times as many as few: less does not show which way it goes."""

FEW_BATCHES = 8
"""In each group: the median of eight is not moved by two that were disturbed."""

LIMITED_GROWTH = 0.7
"""Of blocked time with the number of loads at once, as a power: 0 where they do not touch each other, 1 where they
share a rate. From here on twice the readers get a quarter more at most."""

LEAST_BLOCKED = 0.25
"""Share of load time blocked from which what was read says something of storage: else computing sets the pace."""

ALIKE_SIZE = 4.0
"""Samples of up to so many times the size are read as easily: many small reads reach no high rate."""

CLEARLY_MORE = 1.25
"""A run that read so many times as much shows that what held another one up was not the storage, or is over."""

SERVES_MANY = ("nvme", "ssd", "memory")
"""Kinds of storage that take many reads at once."""


@dataclass(frozen=True, slots=True)
class StorageRate:
    few: float
    """Loads at once, while there were few."""
    many: float
    growth: float
    """Power of that number with which blocked time grows."""
    few_bytes_per_s: float | None
    """What all of them read together. ``None``: how much a batch asks for was not measured."""
    many_bytes_per_s: float | None

    @property
    def is_limited(self) -> bool:
        return self.growth >= LIMITED_GROWTH


def storage_rate(rank: RankFacts) -> StorageRate | None:
    """``None``: the loads of this run block on nothing, or as many were in progress all the time."""
    batches = _that_read(rank.batches)
    if not np.any(batches.blocked_us > 0):
        return None
    at_once = loads_at_once(rank.batches, batches)
    usual = float(np.median(at_once))
    many = at_once >= 0.95 * usual
    few = at_once <= usual / SPREAD
    if min(np.count_nonzero(few), np.count_nonzero(many)) < FEW_BATCHES:
        return None
    blocked = [float(np.median(batches.blocked_us[group])) for group in (few, many)]
    number = [float(np.median(at_once[group])) for group in (few, many)]
    if min(blocked) <= 0:
        return None
    growth = math.log(blocked[1] / blocked[0]) / math.log(number[1] / number[0])
    rates = [_bytes_per_s(chosen(batches, group), at_once[group]) for group in (few, many)]
    return StorageRate(number[0], number[1], growth, *rates)


def most_readers_seen(rank: RankFacts, place: StoragePlace | None) -> float | None:
    """Loads at once, beyond which it is not known what storage gives. ``None``: it is known, or storage matters little.

    Of a disk, a network, and what hides what it is, a run shows it only where the number of loads changed.
    """
    blocked = load_share(rank, rank.batches.blocked_us) or 0.0
    if (
        place is None
        or place.kind in SERVES_MANY
        or blocked < THRESHOLDS.blocked_fraction
        or not reads_files(rank)
        or storage_rate(rank)
    ):
        return None
    at_once = loads_at_once(rank.batches, rank.batches)
    known = at_once[np.isfinite(at_once)]
    return float(np.quantile(known, 0.9)) if len(known) else None


def _read_rate(facts: RunFacts, rank: RankFacts, shown: StorageRate | None) -> ReadRate | None:
    """``shown``: by ``rank``."""
    place = storage_place(facts, rank)
    name = unique_name(place)
    if place is None or name is None or not _waits_for(rank, place):
        return None
    is_share = name == place.device
    readers, bytes_per_s = 0.0, 0.0
    for each in facts.ranks if is_share else facts.on_host_of(rank):
        batches = _that_read(each.batches)
        at_once = loads_at_once(each.batches, batches)
        if len(batches) >= FEW_BATCHES and (rate := _bytes_per_s(batches, at_once)):
            readers, bytes_per_s = readers + float(np.median(at_once)), bytes_per_s + rate
    sample_bytes = _sample_bytes(rank)
    if not bytes_per_s or sample_bytes is None:
        return None
    return ReadRate(
        place=name,
        readers=round(readers, 1),
        bytes_per_s=float(f"{bytes_per_s:.3g}"),
        sample_bytes=float(f"{sample_bytes:.3g}"),
        is_limited=shown is not None and shown.is_limited,
    )


def _waits_for(rank: RankFacts, place: StoragePlace) -> bool:
    """What a page cache serves shows nothing of storage. What comes from a network is not counted as read."""
    blocked, read = load_share(rank, rank.batches.blocked_us), rank.batches.read_bytes
    reaches = place.kind == "network" or 2 * np.count_nonzero(or_zero(read) > 0) >= len(read)
    return bool(len(read)) and blocked is not None and blocked >= LEAST_BLOCKED and bool(reaches)


def _sample_bytes(rank: RankFacts) -> float | None:
    asked, samples = mean(np.fmax(rank.batches.asked_bytes, rank.batches.read_bytes)), mean(rank.batches.samples)
    return asked / samples if asked and samples else None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What other runs show of the storage that a run reads from. Readers are loads at once of its judged rank, with
    which it would read as much.
    """

    runs: int = 0
    most: ReadRate | None = None
    """The highest that one read, with samples no larger than this run's: as much is there for this one."""
    most_readers: float | None = None
    limit: ReadRate | None = None
    """Of one that read no more with more loads at once, with samples no smaller, where none read clearly more."""
    limit_readers: float | None = None


UNKNOWN = Elsewhere()


@dataclass(frozen=True, slots=True)
class StorageShown:
    """By one run, of the storage that its data lies on."""

    rate: StorageRate | None = None
    """By the judged rank alone."""
    read: ReadRate | None = None
    """By all ranks that read from the place of the judged one. ``None``: see :class:`Diagnosis`."""
    elsewhere: Elsewhere = UNKNOWN


NOTHING_SHOWN = StorageShown()


def shown_storage(facts: RunFacts, rank: RankFacts) -> StorageShown:
    """``rank``: the judged one."""
    rate = storage_rate(rank)
    read = _read_rate(facts, rank, rate)
    return StorageShown(rate, read, _seen_elsewhere(facts, rank, read))


def _seen_elsewhere(facts: RunFacts, rank: RankFacts, own: ReadRate | None) -> Elsewhere:
    others = [each for each in facts.read_elsewhere if own and each.place == own.place]
    if own is None or not others:
        return UNKNOWN
    as_hard = [each for each in others if each.sample_bytes <= ALIKE_SIZE * own.sample_bytes]
    as_easy = [each for each in others if each.is_limited and ALIKE_SIZE * each.sample_bytes >= own.sample_bytes]
    most = max(as_hard, key=lambda each: each.bytes_per_s, default=None)
    limit = max(as_easy, key=lambda each: each.bytes_per_s, default=None)
    if most and limit and most.bytes_per_s > CLEARLY_MORE * limit.bytes_per_s:
        limit = None
    of_one = usual_readers(rank) / own.bytes_per_s
    return Elsewhere(
        len(others),
        most,
        most.bytes_per_s * of_one if most else None,
        limit,
        limit.bytes_per_s * of_one if limit else None,
    )


def usual_readers(rank: RankFacts) -> float:
    """Loads at once of the rank."""
    batches = _that_read(rank.batches)
    return float(np.median(loads_at_once(rank.batches, batches))) if len(batches) else 0.0


def loads_at_once(all_batches: BatchRows, batches: BatchRows) -> Column:
    """How many loads were in progress during each of ``batches``, on average, itself included."""
    known = np.isfinite(all_batches.start_us) & np.isfinite(all_batches.load_us)
    at, passed = until(all_batches.start_us[known], all_batches.load_us[known], np.ones(np.count_nonzero(known)))
    begun, done = batches.start_us, batches.start_us + batches.load_us
    loading: Column = np.interp(done, at, passed) - np.interp(begun, at, passed)
    return loading / np.maximum(batches.load_us, 1.0)


def reads_files(rank: RankFacts) -> bool:
    """Or what a network brings instead."""
    asked = rank.batches.asked_bytes[np.isfinite(rank.batches.asked_bytes)]
    return bool(len(asked) and np.mean(asked) >= READS_BYTES) or reads_network(rank)


def _that_read(batches: BatchRows) -> BatchRows:
    """Where most reached storage, those that did: what the page cache serves is blocked on nothing."""
    known = np.isfinite(batches.blocked_us) & np.isfinite(batches.load_us) & np.isfinite(batches.start_us)
    reached = known & (or_zero(batches.read_bytes) > 0)
    return chosen(batches, reached if np.count_nonzero(reached) >= np.count_nonzero(known) / 2 else known)


def _bytes_per_s(batches: BatchRows, at_once: Column) -> float | None:
    asked = np.fmax(batches.asked_bytes, batches.read_bytes)
    known = np.isfinite(asked) & (asked > 0)
    if not known.any():
        return None
    return float(np.median(at_once[known] * asked[known] / np.maximum(batches.load_us[known], 1.0)) * 1e6)
