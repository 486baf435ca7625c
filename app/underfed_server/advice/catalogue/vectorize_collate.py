"""Join a batch with one call, not by a loop over samples and fields."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer, refuse
from underfed_server.advice.proof.traits import halved
from underfed_server.advice.sketches import JOINING
from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.causes import slow_collate
from underfed_server.diagnosis.instant_data import Ceiling
from underfed_server.diagnosis.rounded import percent
from underfed_server.model import Evidence, Refusal

FUNCTION = JOINING


def consider(case: Case) -> Offer | Refusal:
    rank, name = case.rank, case.loader.collate_type or "the collate function"
    joining_us, size_bytes = measures.mean(rank.batches.collate_us), case.loader.batch_bytes
    if size_bytes and joining_us and slow_collate.copies_as_fast(rank, case.loader):
        rate = Evidence(what="Joined", value=size_bytes / joining_us * 1e6, unit="bytes_per_s")
        why = "Joining copies samples into new memory about as fast as memory is filled: one call copies no faster."
        return refuse(
            case,
            "Joining samples with one call",
            why,
            [rate, evidence.mean_us("Joining one batch", rank.batches.collate_us)],
        )
    row = _share(case)
    share = row.value if isinstance(row.value, float) else None
    ceiling = None if share is None else Ceiling(case.ceiling_without(share))
    return Offer(
        to="vectorised",
        title="Join samples with one call",
        why=f"Joining samples into a batch ({name}) is a large part of loading it.",
        risk="The new function has to give the same batches: compare one of each.",
        diff=FUNCTION,
        call={"collate_fn": "collate"},
        evidence=[
            row,
            evidence.mean_us("Joining one batch", rank.batches.collate_us),
            Evidence(what="Samples in a batch", value=measures.mean(rank.batches.samples), unit="count"),
        ],
        from_=case.loader.collate_type,
        gain=_gain(share, ceiling),
        ceiling=ceiling,
    )


def _gain(share: float | None, ceiling: Ceiling | None) -> str:
    unknown = "how fast another collate function is was not seen in this run"
    if share is None or ceiling is None:
        return unknown
    part = f"the {percent(share)} of loading that joining takes, waits for a core left out,"
    saved = f"{part} would be saved: about × {ceiling.speedup:.2f}"
    return f"{unknown}. If it cost nothing, {saved}"


def _share(case: Case) -> Evidence:
    """As its cause has it."""
    rows = (row for cause in case.verdict.causes for row in cause.evidence if row.what == slow_collate.JOINING)
    share = measures.collate_share(case.rank)
    return next(rows, Evidence(what=slow_collate.JOINING, value=share, unit="fraction", series="collate_us"))


CHANGE = Change(
    label="vectorised collate",
    consider=consider,
    sign=halved("collate_us"),
)
