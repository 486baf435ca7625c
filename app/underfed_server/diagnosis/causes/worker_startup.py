"""Each epoch starts its workers anew, and waits until their queue is filled."""

from __future__ import annotations

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, share_signal
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.wait import epochs_begun, lasting_share
from underfed_server.facts.record import whole_epochs
from underfed_server.model import Evidence


def find(examined: Examination) -> Found | None:
    rank, loader, cost = examined.rank, examined.loader, examined.wait.startup
    settings = loader.settings if loader else {}
    begun, keeps = epochs_begun(rank), settings.get("persistent_workers")
    if not keeps:
        # Keeping the workers does not save filling the queue, which therefore counts only where they are kept.
        cost *= 1 - lasting_share(rank, loader)
    if not begun:
        return None
    lengths = whole_epochs(rank.epochs)
    steps = sum(lengths) / len(lengths) if lengths else None
    pace = f"{begun} epochs begin in {len(rank.steps):,} steps" if steps is None else f"An epoch has {steps:.0f} steps"
    if not examined.workers:
        how = "constructing its iterator takes long"
    else:
        how = (
            "its queue begins empty, though the workers are kept" if keeps else "new workers start with an empty queue"
        )
    return Found(
        cost,
        f"{pace}, and {how}.",
        [
            *evidence.epoch_starts(rank, loader),
            Evidence(what="Epochs begun in the judged steps", value=float(begun), unit="count"),
            Evidence(what="Epochs begun in the whole run", value=float(rank.total_epochs), unit="count"),
            Evidence(
                what="Constructing iterators and stopping workers, whole run", value=rank.total_edges_us, unit="us"
            ),
            evidence.setting("persistent_workers", bool(keeps)),
            evidence.setting(
                "multiprocessing_context", settings.get("multiprocessing_context") or "the platform's default"
            ),
        ],
    )


CAUSE = Cause(
    label="worker start-up",
    find=find,
    cured_by=("multiprocessing_context", "persistent_workers"),
    signals=(share_signal("Beginning an epoch", lambda examined: examined.wait.startup),),
)
