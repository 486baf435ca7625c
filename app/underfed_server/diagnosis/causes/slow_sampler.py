"""The sampler chooses the samples of each batch in the training process, and every step waits for it."""

from __future__ import annotations

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, share_signal
from underfed_server.diagnosis.costly_evidence import NOT_SEEN, SAMPLER_NOT_SEEN, chooses, costliest
from underfed_server.diagnosis.examination import Examination
from underfed_server.model import Evidence

BY_PROFILE = " A run with --profile shows which line of it takes the time."


def find(examined: Examination) -> Found | None:
    cost, rank = examined.wait.sampler, examined.rank
    if cost is None:
        return None
    at_begin = [epoch.sampler_us for epoch in rank.epochs if epoch.sampler_us is not None]
    mean_begin = sum(at_begin) / len(at_begin) if at_begin else None
    sampler = (examined.loader.sampler_type if examined.loader else None) or "The sampler"
    is_profiled = examined.facts.loading is not None and examined.facts.loading.has_step
    return Found(
        cost,
        f"{sampler} chooses the samples of each batch in the training process, and every step waits for it."
        f"{'' if is_profiled else BY_PROFILE}",
        [
            evidence.mean_us("Sampler time of one batch", rank.steps.sampler_us, "sampler_us"),
            Evidence(what="Sampler time as an epoch begins", value=mean_begin, unit="us"),
            *costliest(examined, chooses(sampler), NOT_SEEN if is_profiled else SAMPLER_NOT_SEEN),
            evidence.step(rank),
        ],
    )


CAUSE = Cause(
    label="slow sampler",
    find=find,
    cured_by=("faster_sampler",),
    signals=(share_signal("Sampler time", lambda examined: examined.wait.sampler),),
)
