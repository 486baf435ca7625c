"""Storage has reached the rate that all readers share: the more of them load at once, the longer each takes."""

from __future__ import annotations

from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.cause import Cause, Found, Shared, has_workers, share_signal
from underfed_server.diagnosis.examination import Examination, read_from
from underfed_server.diagnosis.sentence import size, three_digits
from underfed_server.diagnosis.storage_rate import CLEARLY_MORE, LIMITED_GROWTH, Elsewhere, reads_files
from underfed_server.model import Evidence

LEAST_SHARE = 0.25
"""Share of load time blocked from which it matters what it is blocked on."""


def find(examined: Examination) -> Found | None:
    rank = examined.rank
    blocked, rate = measures.load_share(rank, rank.batches.blocked_us), examined.storage.rate
    if rate is None or not rate.is_limited or blocked is None or blocked < LEAST_SHARE or not reads_files(rank):
        return None
    where, elsewhere = read_from(examined), examined.storage.elsewhere
    return Found(
        min(examined.unexplained, examined.wait.loading * blocked),
        f"Loads that read from {where} at the same time share one rate: more readers get no more of it together."
        f"{_elsewhere(elsewhere, rate.many_bytes_per_s)}",
        [
            Evidence(what="Blocked, of load time", value=blocked, unit="fraction", series="blocked_us"),
            Evidence(what="Loads at once, when they were few", value=rate.few, unit="count"),
            Evidence(what="All of them then read", value=rate.few_bytes_per_s, unit="bytes_per_s"),
            Evidence(what="Loads at once, when they were many", value=rate.many, unit="count"),
            Evidence(what="All of those read", value=rate.many_bytes_per_s, unit="bytes_per_s"),
            *evidence.read_elsewhere(elsewhere.most),
        ],
    )


def _elsewhere(elsewhere: Elsewhere, own_bytes_per_s: float | None) -> str:
    """What other runs got of it: the same, or so much more that it is not the storage alone."""
    most = elsewhere.most
    if most is None or not own_bytes_per_s:
        return ""
    who = "One other run" if elsewhere.runs == 1 else f"Of {elsewhere.runs} other runs one"
    read = f" {who} read {size(most.bytes_per_s)}/s from it with {three_digits(most.readers)} readers"
    if most.bytes_per_s > CLEARLY_MORE * own_bytes_per_s:
        return f"{read}: it can give more than this run gets of it now."
    return f"{read}: no more than this one."


def _growth(examined: Examination) -> float | None:
    rate = examined.storage.rate if reads_files(examined.rank) else None
    return None if rate is None else max(0.0, min(1.0, rate.growth))


CAUSE = Cause(
    label="storage at its limit",
    find=find,
    cured_by=("tmpfs",),
    signals=(
        share_signal(
            "Blocked time that grows with the loads at once",
            _growth,
            LIMITED_GROWTH,
            "of their number",
            "shared rate",
            where=has_workers,
        ),
    ),
    turn="first",
    is_of_loading=True,
    shared=Shared("mount", "share the rate of"),
)
