"""``no_workers``: the training process loads its own batches, so every load adds to the step."""

from __future__ import annotations

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import mean, recoverable_share, used_cores
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    loader, rank = judged.loader, judged.rank
    if loader is None or loader.num_workers != 0:
        return None
    load, host = mean(rank.batches.load_us), judged.facts.host
    share = recoverable_share(rank, host, judged.wait.loading)
    if load is not None:
        share = min(share, max(0.0, 1 - limits.handover_us / load) if load > 0 else 0.0)
    return CauseFinding(
        cause="no_workers",
        cost_fraction=judged.loading_left * share,
        sentence="The training process loads every batch itself (num_workers=0), so each load adds to the step.",
        evidence=[
            Evidence(what="num_workers", value="0", unit="setting"),
            Evidence(what="Loading one batch", value=load, unit="us", series="load_us"),
            Evidence(what="Loading spent on the CPU", value=judged.loads.cpu, unit="fraction", series="cpu_us"),
            Evidence(what="Cores in use", value=used_cores(rank), unit="cores", series="busy_cores"),
            Evidence(what="Cores this run may use", value=host.usable_cores, unit="cores"),
        ],
    )
