"""Every worker goes through the whole iterable data set, so each sample is loaded once by each worker.

It is reported of every run: also a loop that does not wait trains on each sample as many times an epoch as there are
workers.
"""

from __future__ import annotations

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, share_signal
from underfed_server.diagnosis.examination import Examination
from underfed_server.model import Evidence

REPEATED_FRACTION = 0.50
"""Of the compared batches, the share that another worker gave too. Workers that share the data out repeat none, and
such that do not repeat all; random augmentation hides some."""


def find(examined: Examination) -> Found | None:
    share, loader = _repeated_share(examined), examined.loader
    if share is None or loader is None or share < REPEATED_FRACTION:
        return None
    # Of as many copies as there are workers, one is needed.
    surplus = share * (1 - 1 / examined.workers)
    return Found(
        min(examined.unexplained, examined.wait.loading * surplus),
        f"Each of {examined.workers} workers loads the whole data set: every sample comes {examined.workers} times.",
        [
            Evidence(what="Batches of several workers that were compared", value=loader.compared_batches, unit="count"),
            Evidence(what="Of these also given by another worker", value=loader.repeated_batches, unit="count"),
            evidence.setting("num_workers", examined.workers),
            evidence.setting("The data set's code", loader.why_unsharded),
        ],
    )


def _repeated_share(examined: Examination) -> float | None:
    """Of the batches that were compared; ``None``: there was nothing to compare."""
    loader = examined.loader
    if loader is None or not _is_shared_out(examined):
        return None
    compared, repeated = loader.compared_batches, loader.repeated_batches
    return repeated / compared if compared and repeated is not None else None


def _is_shared_out(examined: Examination) -> bool:
    """An iterable data set, of which each of several workers should load a share."""
    return bool(examined.workers > 1 and examined.loader and examined.loader.is_iterable)


CAUSE = Cause(
    label="repeated data",
    find=find,
    cured_by=("shard_iterable",),
    signals=(
        share_signal(
            "Batches that another worker gave too",
            _repeated_share,
            REPEATED_FRACTION,
            "of those compared",
            "repeated data",
            where=_is_shared_out,
        ),
    ),
    turn="first",
    is_of_loading=True,
    at_any_bound=True,
)
