"""``too_few_workers``: the workers load all the time and cores are free."""

from __future__ import annotations

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import (
    busy_workers_fraction,
    empty_queue_fraction,
    mean,
    recoverable_share,
    throughput_pressure,
    used_cores,
    used_cores_fraction,
)
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    rank, host = judged.rank, judged.facts.host
    used = used_cores_fraction(rank, host)
    if not judged.workers or not _are_behind(judged, limits):
        return None
    if used is not None and used >= limits.saturated_cores_fraction:
        return None
    return CauseFinding(
        cause="too_few_workers",
        cost_fraction=judged.loading_left * recoverable_share(rank, host, judged.wait.loading),
        sentence=_sentence(judged.workers, are_cores_known=used is not None),
        evidence=[
            Evidence(
                what="Time the workers spent loading",
                value=busy_workers_fraction(rank, judged.workers),
                unit="fraction",
            ),
            Evidence(what="Loading one batch", value=mean(rank.batches.load_us), unit="us", series="load_us"),
            Evidence(what="The loop could take one every", value=rank.step_us - rank.data_wait_us, unit="us"),
            Evidence(
                what="Requests that found no batch ready",
                value=empty_queue_fraction(rank),
                unit="fraction",
                series="queue_depth",
            ),
            Evidence(
                what="Loading blocked, not on storage",
                value=judged.loads.blocked_else,
                unit="fraction",
                series="blocked_us",
            ),
            Evidence(what="Cores in use", value=used_cores(rank), unit="cores", series="busy_cores"),
            Evidence(what="Cores this run may use", value=host.usable_cores, unit="cores"),
        ],
    )


def _are_behind(judged: Judged, limits: Limits) -> bool:
    """They never rest, or rest only at the edges of epochs and load more slowly than the loop takes batches."""
    busy = busy_workers_fraction(judged.rank, judged.workers)
    pressure = throughput_pressure(judged.rank, judged.workers)
    return (busy is not None and busy >= limits.busy_workers_fraction) or (pressure is not None and pressure >= 1.0)


def _sentence(workers: int, *, are_cores_known: bool) -> str:
    who = "1 worker loads" if workers == 1 else f"{workers} workers load"
    return f"{who} without a pause and cannot keep up{'; cores are free' if are_cores_known else ''}."
