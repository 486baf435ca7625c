"""Copy a data set that fits into memory there, once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from shlex import quote

from underfed_server.advice.capacity import left_bytes, worker_bytes
from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer, refuse
from underfed_server.advice.proof.traits import Traits
from underfed_server.advice.saved import of_loading
from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.examination import KINDS, storage_us, waits_only_at_first
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.places import storage_place
from underfed_server.model import Evidence, Refusal, StoragePlace

GIB = 1 << 30
TARGET = "/mnt/train-data"

MEMORY_FRACTION = 0.8
"""Of the memory that is left, what the data set may fill: the rest is for workers that grow, and the page cache."""

LEAST_READ_BYTES = 64 << 10
"""Bytes a batch from which a loader reads its data from files: less is read from the pipes that bring the indices."""


def consider(case: Case) -> Offer | Refusal | None:
    if not case.waits_for_data:
        return None
    why, size = _why_not(case), _dataset_bytes(case)
    if why is not None:
        return refuse(case, "The data set in memory", why, _evidence(case))
    if case.cause is None or size is None:
        return None
    place = _main_place(case)
    where = f" from {_describe(place)}" if place else ""
    return Offer(
        to=TARGET,
        title="Copy the data set into memory",
        why=f"Loading waits for reads{where}, and the data set fits into memory.",
        risk=(
            "The copy takes its memory until it is unmounted, counts against a container's limit, and is gone after a "
            "restart. Copying reads the data set once."
        ),
        diff=_diff(case, _mount_gib(size)),
        evidence=_evidence(case),
        from_=place.mount if place else None,
        simulated=replace(case.recorded, is_in_memory=True),
        saved=of_loading(case, storage_us(case.rank, case.loader, place)),
    )


def _why_not(case: Case) -> str | None:
    """``None``: it would help and it fits, or it is not known whether reads reach storage."""
    place = _main_place(case)
    if measures.reads_network(case.rank):
        return "The data come through network connections of the workers, not from files."
    if place is not None and place.kind == "memory":
        return f"The data set is in memory already: {place.mount} is {place.file_system or 'a memory file system'}."
    if case.cause and waits_only_at_first(case.rank):
        return "Only the first epoch reads from storage: after it the page cache holds the data set."
    if _is_cached(case):
        return "The page cache already serves the reads: hardly any reach storage."
    return _why_too_large(case) if case.cause else None


def _why_too_large(case: Case) -> str | None:
    size, left = _dataset_bytes(case), left_bytes(case.facts.host)
    if case.is_short_of_memory:
        return "This run is short of memory already."
    if size is None:
        return "The size of the data set is not known: it has no length, and no epoch was read to its end."
    if left is None:
        return "The memory that is left was not measured."
    if size > left * MEMORY_FRACTION:
        return "The data set does not fit into the memory that this run may still take."
    return None


def _mount_gib(size: int) -> int:
    """A tenth more than was read: files end within a page, and folders take room."""
    return -(-round(1.1 * size) // GIB)


def _diff(case: Case, gib: int) -> str:
    place = _main_place(case)
    folder = str(PurePosixPath(place.example).parent) if place and place.example else None
    seen = " # the folder of the data set; this run reads from there" if folder else " # the folder of the data set"
    return f"""\
+DATA={quote(folder) if folder else "…"} {seen}
+sudo mkdir -p {TARGET} && sudo mount -t tmpfs -o size={gib}G tmpfs {TARGET}
+cp -a "$DATA/." {TARGET}/
 # a container mounts it from outside: docker run --tmpfs {TARGET}:size={gib}g …
 # or, without a mount of its own: docker run --shm-size={gib + 1}g … and copy to /dev/shm
 \n\
-dataset = YourDataset("$DATA")
+dataset = YourDataset("{TARGET}")"""


def _evidence(case: Case) -> list[Evidence]:
    host, place = case.facts.host, _main_place(case)
    left = left_bytes(host)
    rows = [
        evidence.storage_reads(case.rank),
        Evidence(what="Size of the data set, as read", value=_dataset_bytes(case), unit="bytes"),
        Evidence(what="Memory this run may still take", value=left, unit="bytes"),
        Evidence(what="Memory limit of this run's control group", value=host.memory_limit_bytes, unit="bytes"),
        Evidence(what="Memory of this run's workers", value=_workers_bytes(case), unit="bytes"),
    ]
    if place is not None:
        rows.append(evidence.setting("Disk and file system", _describe(place)))
    return rows


def _workers_bytes(case: Case) -> int | None:
    own = worker_bytes(case)
    return None if own is None else own * case.num_workers * case.ranks_on_host


def _main_place(case: Case) -> StoragePlace | None:
    """Where most of its files were seen; ``None``: none was."""
    return storage_place(case.facts, case.rank)


def _describe(place: StoragePlace) -> str:
    """``"an NVMe drive (/data: nvme0n1, ext4)"``"""
    details = ", ".join(word for word in (place.device, place.file_system) if word)
    return f"{KINDS[place.kind]} ({place.mount}{': ' if details else ''}{details})"


def _dataset_bytes(case: Case) -> int | None:
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
    """As requested by read calls; memory-mapped files make none, so for them as read from storage."""
    asked, read = (measures.mean(part) for part in (case.rank.batches.asked_bytes, case.rank.batches.read_bytes))
    known = [size for size in (asked, read) if size]
    return max(known) if known else None


def _is_cached(case: Case) -> bool:
    """The page cache serves the reads: they do not reach storage. What a server sends is not counted as read."""
    read, asked, place = measures.storage_fraction(case.rank), _bytes_of_a_batch(case), _main_place(case)
    is_seen = read is not None and asked is not None and asked >= LEAST_READ_BYTES
    return is_seen and (read or 0.0) < THRESHOLDS.storage_read_fraction and (place is None or place.kind != "network")


def _moved_to_memory(earlier: Traits, later: Traits) -> bool:
    return later.get("storage") == "memory" and earlier.get("storage") not in (None, "memory")


CHANGE = Change(
    label="data set in memory",
    consider=consider,
    needs_cause=False,
    sign=_moved_to_memory,
    alters="storage",
)
