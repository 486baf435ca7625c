"""Give the container more shared memory, so that more batches can be in flight."""

from __future__ import annotations

from underfed_server.advice.capacity import SHM_FRACTION, fits_in_shm, in_flight, left_bytes
from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.advice.proof.traits import grown
from underfed_server.advice.search import numbers, with_workers
from underfed_server.diagnosis import evidence, measures
from underfed_server.model import Evidence

GIB = 1 << 30


def consider(case: Case) -> Offer | None:
    wanted, host = _wanted_bytes(case), case.facts.host
    total, left = host.shm_total_bytes, left_bytes(host)
    if wanted is None or total is None or (left is not None and wanted > left):
        return None
    gib = -(-max(wanted, total + 1) // GIB)
    return Offer(
        to=gib * GIB,
        title=f"Give the container {gib} GiB of shared memory",
        why="Batches go from workers to the training process through /dev/shm, which has room for too few of them.",
        risk="Its contents are memory and count against the container's limit. A full /dev/shm kills workers.",
        diff=_diff(gib),
        sketch=None,
        evidence=[
            Evidence(what="Size of /dev/shm", value=host.shm_total_bytes, unit="bytes"),
            Evidence(what="Free in /dev/shm", value=host.shm_free_bytes, unit="bytes", series="shm_free_bytes"),
            evidence.batch_bytes(case.loader),
            Evidence(what="Batches in flight now", value=in_flight(case.recorded), unit="count"),
        ],
        from_=host.shm_total_bytes,
        gain="a larger /dev/shm makes nothing faster by itself: it only has room for more workers or longer queues",
    )


def _wanted_bytes(case: Case) -> int | None:
    """Size of a /dev/shm with room for the batches in flight; ``None``: the run has that room."""
    if case.loader.batch_bytes is None:
        return None
    setting = _wanted_setting(case)
    if in_flight(setting) == 0 or _has_room(case, setting):
        return None
    return round(in_flight(setting) * case.loader.batch_bytes * case.ranks_on_host / SHM_FRACTION)


def _wanted_setting(case: Case) -> SimulatedSetting:
    """Workers that keep up by Little's law, where the run waits for its data; else those it has."""
    load, own = measures.mean(case.rank.batches.load_us), case.rank.rest_us
    if not case.waits_for_data or load is None or own <= 0:
        return case.recorded
    more = [number for number in numbers(case) if number > case.num_workers]
    enough = next((number for number in more if number * own >= load), more[-1] if more else case.num_workers)
    return with_workers(case, enough)


def _has_room(case: Case, setting: SimulatedSetting) -> bool:
    """More batches in flight than now have to fit into what is free; as many as now, into the whole."""
    total, batch = case.facts.host.shm_total_bytes, case.loader.batch_bytes or 0
    if in_flight(setting) > in_flight(case.recorded):
        return fits_in_shm(case, setting)
    return total is None or in_flight(setting) * batch * case.ranks_on_host <= total * SHM_FRACTION


def _diff(gib: int) -> str:
    return f"""\
 # a container:
+docker run --shm-size={gib}g …
 # Kubernetes, mounted at /dev/shm:
+    emptyDir: {{medium: Memory, sizeLimit: {gib}Gi}}
 # a machine of your own:
+sudo mount -o remount,size={gib}G /dev/shm"""


CHANGE = Change(
    label="larger /dev/shm",
    consider=consider,
    sign=grown("shm_total_bytes"),
)
