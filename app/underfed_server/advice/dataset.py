"""The data set as this run reads it: how large it is, where it lies, and what serves the reads."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.examination import KINDS, storage_place
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import StoragePlace

LEAST_READ_BYTES = 64 << 10
"""For one batch, from which a loader reads its data from files: less are the pipes that its indices come by."""


def main_place(case: Case) -> StoragePlace | None:
    """Where most of its files were seen; ``None``: none was."""
    return storage_place(case.facts, case.rank)


def describe(place: StoragePlace) -> str:
    """``"an NVMe drive (/data: nvme0n1, ext4)"``"""
    details = ", ".join(word for word in (place.device, place.file_system) if word)
    return f"{KINDS[place.kind]} ({place.mount}{': ' if details else ''}{details})"


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
    """The page cache serves the reads: they do not reach storage. What a server sends is not counted as read."""
    read, asked, place = measures.storage_fraction(case.rank), _bytes_of_a_batch(case), main_place(case)
    is_seen = read is not None and asked is not None and asked >= LEAST_READ_BYTES
    return is_seen and (read or 0.0) < THRESHOLDS.storage_read_fraction and (place is None or place.kind != "network")
