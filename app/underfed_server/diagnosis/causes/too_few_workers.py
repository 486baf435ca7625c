"""The workers load all the time and cannot keep up with the training loop; cores are free, or others fill them."""

from __future__ import annotations

from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.cause import Cause, Found, share_below, signal
from underfed_server.diagnosis.costly_evidence import costliest
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.record import HostShare, RankFacts
from underfed_server.model import Evidence, Signal

BUSY_FRACTION = 0.85
"""Workers that load this share of the time have no reserve: bursts already make the loop wait."""

WAITING_FRACTION = 0.8
"""Of load time, blocked. Such loading needs next to none of the cores, whoever else fills them."""


HELPED_FRACTION = 0.25
"""Of load time, from which what loading waits for computes, and so may wait for a core itself."""


OF_OTHERS = ". Another worker may get a part of the cores that other jobs use"
"""Where others fill them, and workers compute."""


def find(examined: Examination) -> Found | None:
    rank, host, workers = examined.rank, examined.facts.host, examined.workers
    used = measures.used_cores_fraction(rank, host)
    if not workers or not _are_behind(examined):
        return None
    blocked = examined.loads.blocked_else
    is_full = used is not None and used >= THRESHOLDS.saturated_cores_fraction
    waits = blocked is not None and blocked >= WAITING_FRACTION
    if is_full and not waits and not is_outnumbered(examined):
        return None
    whose = "" if not is_full else _what_for(examined) if waits else OF_OTHERS
    busy = measures.busy_workers_fraction(rank, workers)
    return Found(
        examined.beside_crowd * measures.recoverable_share(examined.facts, rank, examined.wait.loading),
        _sentence(workers, whose if is_full else _free(rank, host)),
        [
            Evidence(what="Time the workers spent loading", value=busy, unit="fraction"),
            evidence.load(rank),
            evidence.work(rank),
            evidence.empty_queue(rank),
            Evidence(
                what=f"Blocked, on nothing that was seen, {evidence.WAITED_FOR}",
                value=blocked,
                unit="fraction",
                series="blocked_us",
            ),
            *costliest(examined),
            *evidence.network(rank),
            evidence.cores_in_use(rank),
            evidence.usable_cores(host),
        ],
    )


def is_outnumbered(examined: Examination) -> bool:
    """Others use more of the cores than this run, which has fewer workers than there are cores: the scheduler divides
    these among all that are ready, so that one more worker may be given some of them.
    """
    others, usable = examined.crowd.cores, examined.facts.host.usable_cores
    own = sum(measures.own_cores(each.process) for each in examined.facts.on_host_of(examined.rank))
    return others is not None and bool(usable) and others > own and examined.workers < (usable or 0.0)


def _what_for(examined: Examination) -> str:
    """Of workers that wait on full cores."""
    if (examined.loads.helped or 0.0) >= HELPED_FRACTION:
        return ". They wait for threads or programs of their own, which compute on full cores"
    if examined.loads.storage is None:
        return ". A load mostly waits outside its own code, for storage or a service"
    return ". A load mostly waits, but not for a core or a disk: for a service, for example"


def _are_behind(examined: Examination) -> bool:
    """They never rest, or rest only at the edges of epochs and load more slowly than the loop takes batches."""
    busy = measures.busy_workers_fraction(examined.rank, examined.workers)
    pressure = measures.throughput_pressure(examined.rank, examined.workers)
    return (busy is not None and busy >= BUSY_FRACTION) or (pressure is not None and pressure >= 1.0)


def _busy(examined: Examination, is_found: bool) -> Signal | None:
    """Workers that rest at the edges of epochs are shown by how slowly they load."""
    busy = measures.busy_workers_fraction(examined.rank, examined.workers)
    if not examined.workers:
        return None
    if is_found and (busy is None or busy < BUSY_FRACTION):
        pressure = measures.throughput_pressure(examined.rank, examined.workers)
        measured = Evidence(what="of what the loop takes for a step", value=pressure, unit="factor", series="load_us")
        return signal("Loading a batch, by all workers", measured, "below × 1.00", "cause", "too slow")
    says = "always busy"
    return share_below(BUSY_FRACTION, "Workers busy loading", "of the time", busy, says, is_cause=is_found)


def _sentence(workers: int, free: str) -> str:
    who = "1 worker loads without a pause and cannot" if workers == 1 else f"{workers} workers load but cannot"
    return f"{who} keep up with the training loop{free}."


def _free(rank: RankFacts, host: HostShare) -> str:
    """Of cores; of less than one, which a further worker would have to share, how much."""
    used, usable = measures.used_cores(rank), host.usable_cores
    if used is None or not usable:
        return ""
    free = usable - used
    return ". Cores are free" if free >= 1 else f". Of {usable:g} cores {free:.2f} are free"


CAUSE = Cause(
    label="too few workers",
    find=find,
    cured_by=("cheaper_transform", "more_shards", "num_workers", "shm_size", "vectorize_getitem"),
    signals=(_busy,),
    turn="last",
)
