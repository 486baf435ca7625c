"""``tmpfs``: a data set that fits into memory is copied there once, and read without waiting for storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from shlex import quote

from underfed_server.advice.bounds import BOUNDS
from underfed_server.advice.case import Case
from underfed_server.advice.dataset import dataset_bytes, describe, is_cached, main_place
from underfed_server.advice.memory import left_bytes, worker_bytes
from underfed_server.advice.offer import Offer, offer_simulated
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.limits import LIMITS
from underfed_server.diagnosis.storage import waits_only_at_first
from underfed_server.model import Advice, Evidence, Refusal

GIB = 1 << 30
TARGET = "/mnt/train-data"


def consider(case: Case) -> Sequence[Advice | Refusal]:
    if not case.waits_for_data:
        return []
    why = why_not(case)
    if why is not None:
        return [Refusal(change="tmpfs", title="The data set in memory", why=why, evidence=_evidence(case))]
    size = dataset_bytes(case)
    if case.found("storage_wait") is None or size is None:
        return []
    return offer_simulated(case, replace(case.recorded, is_in_memory=True), _offer(case, size))


def why_not(case: Case) -> str | None:
    """``None``: it would help and it fits, or nothing is known of where reads end."""
    place = main_place(case)
    if place is not None and place.kind == "memory":
        return f"The data set lies in memory already: {place.mount} is {place.file_system or 'a memory file system'}."
    if case.found("storage_wait") and waits_only_at_first(case.rank, LIMITS.cold_epoch_factor):
        return "Only the first epoch reads from storage: by now the page cache holds the data set."
    if is_cached(case):
        return "The page cache already serves the reads: they hardly reach storage."
    return _why_too_large(case) if case.found("storage_wait") else None


def _why_too_large(case: Case) -> str | None:
    size, left = dataset_bytes(case), left_bytes(case.facts.host)
    if case.is_short_of_memory:
        return "This run is short of memory already."
    if size is None:
        return "How large the data set is was not measured: it has no length, and no epoch was read to its end."
    if left is None:
        return "How much memory is left was not measured."
    if size > left * BOUNDS.tmpfs_fraction:
        return "The data set does not fit into the memory that this run may still take."
    return None


def _offer(case: Case, size: int) -> Offer:
    place = main_place(case)
    where = f" from {describe(place)}" if place else ""
    return Offer(
        change="tmpfs",
        to=TARGET,
        title="Copy the data set into memory",
        why=f"Loading waits for reads{where}, and the data set fits into memory.",
        risk=(
            "The memory is taken until it is unmounted, and counts against a container's limit. The copy reads the "
            "data set once, and is gone after a restart."
        ),
        diff=_diff(case, _mount_gib(size)),
        evidence=_evidence(case),
        from_=place.mount if place else None,
        in_call=False,
    )


def _mount_gib(size: int) -> int:
    """A tenth more than was read: files end within a page, and folders take room."""
    return -(-round(1.1 * size) // GIB)


def _diff(case: Case, gib: int) -> str:
    place = main_place(case)
    folder = str(PurePosixPath(place.example).parent) if place and place.example else None
    seen = " # the folder of the data set; this run reads from there" if folder else " # the folder of the data set"
    return "\n".join(
        [
            f"+DATA={quote(folder) if folder else '…'} {seen}",
            f"+sudo mkdir -p {TARGET} && sudo mount -t tmpfs -o size={gib}G tmpfs {TARGET}",
            f'+cp -a "$DATA/." {TARGET}/',
            f" # a container mounts it from outside: docker run --tmpfs {TARGET}:size={gib}g …",
            f" # or, without a mount of its own: docker run --shm-size={gib + 1}g … and copy to /dev/shm",
            " ",
            '-dataset = YourDataset("$DATA")',
            f'+dataset = YourDataset("{TARGET}")',
        ]
    )


def _evidence(case: Case) -> list[Evidence]:
    host, place = case.facts.host, main_place(case)
    left = left_bytes(host)
    rows = [
        Evidence(
            what="Read from storage, of bytes asked for", value=measures.storage_fraction(case.rank), unit="fraction"
        ),
        Evidence(what="Size of the data set, as read", value=dataset_bytes(case), unit="bytes"),
        Evidence(what="Memory this run may still take", value=left, unit="bytes"),
        Evidence(what="Memory limit of its control group", value=host.memory_limit_bytes, unit="bytes"),
        Evidence(what="Memory of its workers", value=_workers_bytes(case), unit="bytes"),
    ]
    if place is not None:
        rows.append(Evidence(what="It lies on", value=describe(place), unit="setting"))
    return rows


def _workers_bytes(case: Case) -> int | None:
    own = worker_bytes(case)
    return None if own is None else own * case.num_workers * case.ranks_on_host
