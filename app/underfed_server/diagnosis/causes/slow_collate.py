"""Joining samples into a batch is the main part of loading it."""

from __future__ import annotations

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, share_signal
from underfed_server.diagnosis.costly_evidence import costliest, is_joining
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.sentence import percent
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence

LEAST_SHARE = 0.40
"""Share of load time, without waiting for a core, from which joining samples is the main part of a load, the rest being
spread over reading, decoding and transforming: with less, making it instant does not even gain a factor of 1.7."""


def find(examined: Examination) -> Found | None:
    share, loader, batches = examined.loads.collate, examined.loader, examined.rank.batches
    of_work = _share_of_work(examined)
    if share is None or of_work is None or of_work < LEAST_SHARE:
        return None
    collate = (loader.collate_type if loader else None) or "the collate function"
    return Found(
        min(examined.unexplained, examined.wait.loading * share),
        f"Joining samples into a batch ({collate}) takes {percent(of_work)} of {_whole(examined.loads.runqueue)}.",
        [
            Evidence(what="Joining samples, of load time without waits for a core", value=of_work, unit="fraction"),
            Evidence(
                what=f"Joining samples, {evidence.WAITED_FOR}",
                value=share,
                unit="fraction",
                series="collate_us",
            ),
            evidence.runqueue_share(examined.loads.runqueue),
            evidence.mean_us("Joining one batch", batches.collate_us, "collate_us"),
            *costliest(examined, is_joining, only=", joining samples"),
            evidence.load(examined.rank),
            evidence.batch_bytes(loader),
            evidence.batch_tensors(loader),
        ],
    )


def _whole(runqueue: float | None) -> str:
    """What the share is of."""
    is_alike = (runqueue or 0.0) < THRESHOLDS.minor_cost_fraction
    return "a load" if is_alike else "what loading does, its waits for a free core left out"


def _share_of_work(examined: Examination) -> float | None:
    """Of loading without waiting for a core, which joining is measured without, too."""
    collate, work = examined.loads.collate, 1 - (examined.loads.runqueue or 0.0)
    return None if collate is None or work <= 0 else min(1.0, collate / work)


CAUSE = Cause(
    label="slow collate",
    find=find,
    cured_by=("cheaper_transform", "smaller_dtype", "vectorize_collate"),
    signals=(
        share_signal(
            "Joining samples into batches",
            _share_of_work,
            LEAST_SHARE,
            "of load time, waiting for a core left out",
            "slow collate",
            series="collate_us",
        ),
    ),
    is_of_loading=True,
)
