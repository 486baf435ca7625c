"""``worker_startup``: each epoch begins with workers that start and a queue that is empty."""

from __future__ import annotations

from underfed_server.diagnosis.edges import epochs_begun, lasting_share, mean_iterator_us, mean_startup_us
from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    settings = judged.loader.settings if judged.loader else {}
    begun = epochs_begun(judged.rank)
    cost = judged.wait.startup
    if not settings.get("persistent_workers"):
        # With workers kept there would still be a queue to fill; where they are, that is all there is.
        cost *= 1 - lasting_share(judged.rank, judged.loader)
    if not begun or cost < limits.minor_cost_fraction:
        return None
    return CauseFinding(
        cause="worker_startup",
        cost_fraction=cost,
        sentence=_sentence(judged, begun),
        evidence=[
            Evidence(
                what="Longer wait for an epoch's first batch",
                value=mean_startup_us(judged.rank, judged.loader),
                unit="us",
            ),
            Evidence(what="Of it making the iterator", value=mean_iterator_us(judged.rank), unit="us"),
            Evidence(what="Epochs begun in the judged steps", value=float(begun), unit="count"),
            Evidence(what="Steps of an epoch", value=len(judged.rank.steps) / begun, unit="count"),
            Evidence(what="persistent_workers", value=str(settings.get("persistent_workers")), unit="setting"),
            Evidence(
                what="multiprocessing_context",
                value=str(settings.get("multiprocessing_context") or "the platform's"),
                unit="setting",
            ),
        ],
    )


def _sentence(judged: Judged, begun: int) -> str:
    steps = len(judged.rank.steps) / begun
    settings = judged.loader.settings if judged.loader else {}
    if not judged.workers:
        how = "making the iterator anew takes its time"
    elif settings.get("persistent_workers"):
        how = "the queue is empty again, though the workers are kept"
    else:
        how = "the workers are started anew and the queue is empty"
    return f"Every {steps:.0f} steps an epoch begins, and {how}."
