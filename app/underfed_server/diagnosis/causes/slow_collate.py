"""Joining samples into a batch is the main part of loading it."""

from __future__ import annotations

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, share_below
from underfed_server.diagnosis.costly_evidence import costliest, is_joining
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.sentence import percent
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence, Signal

LEAST_SHARE = 0.40
"""Share of load time, without waiting for a core, from which joining samples is the main part of a load, the rest being
spread over reading, decoding and transforming: with less, making it instant does not even gain a factor of 1.7."""


def find(examined: Examination) -> Found | None:
    share, loader, batches = examined.loads.collate, examined.loader, examined.rank.batches
    if share is None or share < _least(examined):
        return None
    collate = (loader.collate_type if loader else None) or "the collate function"
    return Found(
        min(examined.unexplained, examined.wait.loading * share),
        f"Joining samples into a batch ({collate}) takes {_share_told(examined, share)}.",
        [
            Evidence(
                what=f"Joining samples, {evidence.WAITED_FOR}",
                value=share,
                unit="fraction",
                series="collate_us",
            ),
            evidence.runqueue_share(examined.loads.runqueue),
            evidence.mean_us("Joining one batch", batches.collate_us, "collate_us"),
            *costliest(examined, is_joining, only=_only(examined)),
            evidence.load(examined.rank),
            evidence.batch_bytes(loader),
            evidence.batch_tensors(loader),
        ],
    )


def _least(examined: Examination) -> float:
    """Of load time: joining is measured without waiting for a core, and is most of what loading does without it."""
    return LEAST_SHARE * (1 - (examined.loads.runqueue or 0.0))


def _waits_for_cores(examined: Examination) -> bool:
    return (examined.loads.runqueue or 0.0) >= THRESHOLDS.minor_cost_fraction


def _share_told(examined: Examination, share: float) -> str:
    """One figure, and why it need not be most of a load."""
    queued = examined.loads.runqueue or 0.0
    is_most_of_rest = _waits_for_cores(examined) and queued >= (1 - share) / 2
    return f"{percent(share)} of a load{', waiting for a free core most of the rest' if is_most_of_rest else ''}"


def _only(examined: Examination) -> str:
    """Looks find a thread that waits for a core where it computes."""
    return ", joining samples" + (", its waits for a core there included" if _waits_for_cores(examined) else "")


def _read_signal(examined: Examination, is_found: bool) -> Signal:
    share = examined.loads.collate
    return share_below(
        _least(examined), "Joining samples into batches", evidence.WAITED_FOR, share, "slow collate",
        is_cause=is_found, series="collate_us",
    )  # fmt: skip


CAUSE = Cause(
    label="slow collate",
    find=find,
    cured_by=("cheaper_transform", "smaller_dtype", "vectorize_collate"),
    signals=(_read_signal,),
    is_of_loading=True,
)
