"""``slow_sampler``: drawing indices in the training process holds up every request."""

from __future__ import annotations

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import mean
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    cost = judged.wait.sampler
    if cost is None or cost < limits.minor_cost_fraction:
        return None
    at_begin = [epoch.sampler_us for epoch in judged.rank.epochs if epoch.sampler_us is not None]
    sampler = (judged.loader.sampler_type if judged.loader else None) or "The sampler"
    return CauseFinding(
        cause="slow_sampler",
        cost_fraction=cost,
        sentence=f"{sampler} draws its indices in the training process, and every step waits for it.",
        evidence=[
            Evidence(
                what="Drawing the indices of one batch",
                value=mean(judged.rank.steps.sampler_us),
                unit="us",
                series="sampler_us",
            ),
            Evidence(
                what="Drawing indices as an epoch begins",
                value=sum(at_begin) / len(at_begin) if at_begin else None,
                unit="us",
            ),
            Evidence(what="Step", value=judged.rank.step_us, unit="us", series="step_us"),
        ],
    )
