"""``shm_size``: every batch of a worker goes through /dev/shm; 64 MB, a container's default, hold few."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.advice.bounds import BOUNDS
from underfed_server.advice.case import Case
from underfed_server.advice.memory import fits_in_shm, in_flight, left_bytes
from underfed_server.advice.offer import Offer, offer_unpredicted
from underfed_server.advice.search import numbers, with_workers
from underfed_server.advice.simulate import LoaderSetting
from underfed_server.diagnosis import measures
from underfed_server.model import Advice, Evidence, Refusal

GIB = 1 << 30


def consider(case: Case) -> Sequence[Advice | Refusal]:
    wanted = wanted_bytes(case)
    total, left = case.facts.host.shm_total_bytes, left_bytes(case.facts.host)
    if wanted is None or total is None or (left is not None and wanted > left):
        return []
    return [offer_unpredicted(case, _offer(case, -(-max(wanted, total + 1) // GIB)))]


def wanted_bytes(case: Case) -> int | None:
    """In which the batches in flight fit as they should, of a run that has no room for them; ``None``: it has."""
    if case.loader.batch_bytes is None or case.found("memory_pressure", "no_workers", "too_few_workers") is None:
        return None
    setting = _wanted_setting(case)
    if in_flight(setting) == 0 or _has_room(case, setting):
        return None
    return round(in_flight(setting) * case.loader.batch_bytes * case.ranks_on_host / BOUNDS.shm_fraction)


def _wanted_setting(case: Case) -> LoaderSetting:
    """Workers that keep up by Little's law, where the run waits for its data; else those it has."""
    load, own = measures.mean(case.rank.batches.load_us), case.rank.step_us - case.rank.data_wait_us
    if not case.waits_for_data or load is None or own <= 0:
        return case.recorded
    more = [number for number in numbers(case) if number > case.num_workers]
    enough = next((number for number in more if number * own >= load), more[-1] if more else case.num_workers)
    return with_workers(case, enough)


def _has_room(case: Case, setting: LoaderSetting) -> bool:
    """More than it has in flight now: by what is free. What it has now: by what there is."""
    total, batch = case.facts.host.shm_total_bytes, case.loader.batch_bytes or 0
    if in_flight(setting) > in_flight(case.recorded):
        return fits_in_shm(case, setting)
    return total is None or in_flight(setting) * batch * case.ranks_on_host <= total * BOUNDS.shm_fraction


def _offer(case: Case, gib: int) -> Offer:
    host, batch = case.facts.host, case.loader.batch_bytes
    return Offer(
        change="shm_size",
        to=gib * GIB,
        title=f"Give the container {gib} GiB of shared memory",
        why="Batches go from workers to the training process through /dev/shm, and it holds too few of them.",
        risk="What lies there is memory, and counts against the container's limit. A full /dev/shm kills workers.",
        diff=_diff(gib),
        evidence=[
            Evidence(what="Size of /dev/shm", value=host.shm_total_bytes, unit="bytes"),
            Evidence(what="Of it free", value=host.shm_free_bytes, unit="bytes", series="shm_free_bytes"),
            Evidence(what="Size of a batch", value=batch, unit="bytes"),
            Evidence(what="Batches in flight now", value=in_flight(case.recorded), unit="count"),
        ],
        from_=host.shm_total_bytes,
        in_call=False,
        unknown="a larger /dev/shm makes nothing faster by itself: it makes room for more workers or longer queues",
    )


def _diff(gib: int) -> str:
    return "\n".join(
        [
            " # a container:",
            f"+docker run --shm-size={gib}g …",
            " # Kubernetes, mounted at /dev/shm:",
            f"+    emptyDir: {{medium: Memory, sizeLimit: {gib}Gi}}",
            " # a machine of one's own:",
            f"+sudo mount -o remount,size={gib}G /dev/shm",
        ]
    )
