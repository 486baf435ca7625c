"""``pin_thread``: batches lie ready, and the one thread that copies them into page-locked memory is behind."""

from __future__ import annotations

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import mean
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    cost, loader = judged.wait.pin, judged.loader
    if cost is None or loader is None or cost < limits.minor_cost_fraction:
        return None
    return CauseFinding(
        cause="pin_thread",
        cost_fraction=cost,
        sentence="Loaded batches wait for the thread that copies them into page-locked memory.",
        evidence=[
            Evidence(what="Copying one batch", value=mean(judged.rank.batches.pin_us), unit="us", series="pin_us"),
            Evidence(what="Step", value=judged.rank.step_us, unit="us", series="step_us"),
            Evidence(what="Size of a batch", value=loader.batch_bytes, unit="bytes"),
            Evidence(what="Tensors in a batch", value=loader.batch_tensors, unit="count"),
        ],
    )
