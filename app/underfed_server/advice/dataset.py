"""The data set as this run reads it: how large it is, where it lies, and what serves the reads."""

from __future__ import annotations

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.limits import LIMITS
from underfed_server.facts.record import Column, StorageFacts
from underfed_server.model import StorageKind

KINDS: dict[StorageKind, str] = {
    "nvme": "an NVMe disk",
    "ssd": "an SSD",
    "hdd": "a rotating disk",
    "network": "a network file system",
    "memory": "memory",
    "overlay": "a container's layers",
    "unknown": "storage of unknown kind",
}


def main_place(case: Case) -> StorageFacts | None:
    """The mount in which most of its files were seen; ``None``: none was."""
    return max(case.facts.storage, key=lambda place: place.files_seen, default=None)


def describe(place: StorageFacts) -> str:
    """``"an NVMe disk (/dev/nvme0n1, ext4)"``"""
    details = ", ".join(word for word in (place.device, place.file_system) if word)
    return KINDS[place.kind] + (f" ({details})" if details else "")


def dataset_bytes(case: Case) -> int | None:
    """Bytes of a sample as read, times samples; of an iterable one, of a batch times those of a whole epoch.

    ``None``: reads were not measured, or it is not known how many there are in an epoch.
    """
    batches = case.rank.batches
    a_batch, samples = _bytes_of_a_batch(case), measures.mean(batches.samples)
    if a_batch is None:
        return None
    if case.loader.dataset_length and samples:
        return round(a_batch / samples * case.loader.dataset_length)
    steps = [one.steps for one in case.rank.epochs if one.ended == "exhausted" and one.steps]
    return round(a_batch * max(steps) * max(1, len(case.facts.ranks))) if steps else None


def _bytes_of_a_batch(case: Case) -> float | None:
    """As asked for; mapped files are not asked for by a call, so of them what was read from storage."""
    asked, read = (measures.mean(part) for part in (case.rank.batches.asked_bytes, case.rank.batches.read_bytes))
    known = [size for size in (asked, read) if size]
    return max(known) if known else None


def is_cached(case: Case) -> bool:
    """The reads do not reach storage: the page cache serves them."""
    read = measures.storage_fraction(case.rank)
    place = main_place(case)
    # Bytes from a network server are not counted as read from storage.
    return read is not None and read < LIMITS.storage_read_fraction and (place is None or place.kind != "network")


def is_cached_by_now(case: Case) -> bool:
    """Earlier epochs read from storage, and the newest finds what they read in the page cache."""
    batches = case.rank.batches
    epochs = np.unique(batches.epoch_index[np.isfinite(batches.epoch_index)])
    if len(epochs) < 2:
        return False
    newest = batches.epoch_index == epochs[-1]
    first, last = (_read_fraction(case, part) for part in (~newest, newest))
    return first is not None and last is not None and first >= LIMITS.storage_read_fraction > last


def _read_fraction(case: Case, chosen: Column) -> float | None:
    asked, read = (
        measures.mean(part[chosen]) for part in (case.rank.batches.asked_bytes, case.rank.batches.read_bytes)
    )
    return None if not asked or read is None else read / asked
