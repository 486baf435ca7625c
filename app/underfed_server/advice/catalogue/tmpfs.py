"""Copy a data set that fits into memory there, once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from shlex import quote

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change, Outcomes
from underfed_server.advice.dataset import dataset_bytes, describe, is_cached, main_place
from underfed_server.advice.memory import left_bytes, worker_bytes
from underfed_server.advice.offer import Offer, offer_simulated, refuse
from underfed_server.advice.proof.traits import Traits
from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.examination import waits_only_at_first
from underfed_server.model import Evidence

GIB = 1 << 30
TARGET = "/mnt/train-data"

MEMORY_FRACTION = 0.8
"""Of the memory that is left, what the data set may fill: the rest is for workers that grow, and the page cache."""


def consider(case: Case) -> Outcomes:
    if not case.waits_for_data:
        return []
    why = _why_not(case)
    if why is not None:
        return [refuse(case, "The data set in memory", why, _evidence(case))]
    size = dataset_bytes(case)
    if case.cause is None or size is None:
        return []
    return offer_simulated(case, replace(case.recorded, is_in_memory=True), _offer(case, size))


def _why_not(case: Case) -> str | None:
    """``None``: it would help and it fits, or nothing is known of where reads end."""
    place = main_place(case)
    if place is not None and place.kind == "memory":
        return f"The data set is in memory already: {place.mount} is {place.file_system or 'a memory file system'}."
    if case.cause and waits_only_at_first(case.rank):
        return "Only the first epoch reads from storage: after it the page cache holds the data set."
    if is_cached(case):
        return "The page cache already serves the reads: hardly any reach storage."
    return _why_too_large(case) if case.cause else None


def _why_too_large(case: Case) -> str | None:
    size, left = dataset_bytes(case), left_bytes(case.facts.host)
    if case.is_short_of_memory:
        return "This run is short of memory already."
    if size is None:
        return "The size of the data set is not known: it has no length, and no epoch was read to its end."
    if left is None:
        return "The memory that is left was not measured."
    if size > left * MEMORY_FRACTION:
        return "The data set does not fit into the memory that this run may still take."
    return None


def _offer(case: Case, size: int) -> Offer:
    place = main_place(case)
    where = f" from {describe(place)}" if place else ""
    return Offer(
        to=TARGET,
        title="Copy the data set into memory",
        why=f"Loading waits for reads{where}, and the data set fits into memory.",
        risk=(
            "The copy takes its memory until it is unmounted, counts against a container's limit, and is gone after a "
            "restart. Making it reads the data set once."
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
        evidence.storage_reads(case.rank),
        Evidence(what="Size of the data set, as read", value=dataset_bytes(case), unit="bytes"),
        Evidence(what="Memory this run may still take", value=left, unit="bytes"),
        Evidence(what="Memory limit of this run's control group", value=host.memory_limit_bytes, unit="bytes"),
        Evidence(what="Memory of this run's workers", value=_workers_bytes(case), unit="bytes"),
    ]
    if place is not None:
        rows.append(evidence.setting("The data lies on", describe(place)))
    return rows


def _workers_bytes(case: Case) -> int | None:
    own = worker_bytes(case)
    return None if own is None else own * case.num_workers * case.ranks_on_host


def _moved_to_memory(earlier: Traits, later: Traits) -> bool:
    return later.get("storage") == "memory" and earlier.get("storage") not in (None, "memory")


CHANGE = Change(
    label="data set in memory",
    consider=consider,
    sign=_moved_to_memory,
    alters="storage",
)
