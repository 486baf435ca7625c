"""Blocked on reads that really reach storage: told from sleeping, locks and services, and from the page cache."""

from __future__ import annotations

import numpy as np

from underfed_server.diagnosis.measures import pressure_fraction
from underfed_server.facts.record import Column, LoaderFacts, RankFacts, RunFacts, StorageFacts

KINDS = {
    "nvme": "an NVMe drive",
    "ssd": "an SSD",
    "hdd": "a hard disk",
    "network": "a network file system",
    "overlay": "the container's own file system",
    "memory": "memory",
    "unknown": "a disk of unknown kind",
}

PRESSURE_MARGIN = 2.0
"""Being blocked for twice as long as any task of the host waited for I/O is waiting for something else. Not for less:
samples come once a second, and a rank's share of a short span is known no better."""


def storage_place(facts: RunFacts, rank: RankFacts) -> StorageFacts | None:
    """Where most of the data set's files lie; ``None``: not seen."""
    here = [each for each in facts.storage if rank.hostname in (None, each.hostname) or each.hostname is None]
    return max(here, key=lambda each: each.files_seen, default=None)


def describe(place: StorageFacts | None) -> str:
    """``an NVMe drive (/data)``."""
    return f"{KINDS[place.kind]} ({place.mount})" if place else "storage"


def storage_blocked_us(
    rank: RankFacts, loader: LoaderFacts | None, place: StorageFacts | None, least_read: float
) -> Column:
    """Of each batch, blocked on reads that reach storage; NaN: not measured.

    Memory-mapped reads are not asked for by a call. A network file system's do not show as read from storage, so there
    asking and being blocked is all that can be told. Elsewhere no more than twice what the host's tasks
    together waited for I/O (PSI): what a sleep or a service took is not storage's.
    """
    batches = rank.batches
    asked, read = batches.asked_bytes, np.nan_to_num(batches.read_bytes)
    is_remote = place is not None and place.kind == "network"
    reaches = (read > 0) & ~(read < least_read * asked)
    if is_remote:
        reaches |= asked > 0
    blocked = np.where(reaches, batches.blocked_us, np.where(np.isfinite(batches.read_bytes) | is_remote, 0.0, np.nan))
    return blocked if is_remote else blocked * _within_pressure(rank, loader, blocked)


def _within_pressure(rank: RankFacts, loader: LoaderFacts | None, blocked: Column) -> float:
    known = blocked[np.isfinite(blocked)]
    pressure = None if rank.host is None else pressure_fraction(rank.host, rank.host.io_pressure_us)
    if pressure is None or not len(known):
        return 1.0
    # One batch a step, spread over the loading processes.
    processes = max(1, (loader.num_workers if loader else None) or 0)
    busy = float(np.mean(known)) / (processes * rank.step_us)
    return min(1.0, PRESSURE_MARGIN * pressure / busy) if busy > 0 else 1.0


def waits_only_at_first(rank: RankFacts, factor: float) -> bool:
    """The first judged epoch's loads were blocked ``factor`` times as long as those of the later ones, on average."""
    batches = rank.batches
    if not len(batches):
        return False
    is_first = batches.epoch_index == np.nanmin(batches.epoch_index)
    known = np.isfinite(batches.blocked_us)
    first, later = batches.blocked_us[is_first & known], batches.blocked_us[~is_first & known]
    return bool(len(first) and len(later) and np.mean(first) >= factor * np.mean(later) and np.mean(first) > 0)
