"""Storage gives all readers together no more, however many they are: the more load at once, the longer each takes."""

from __future__ import annotations

from underfed_server.diagnosis import measures
from underfed_server.diagnosis.cause import Cause, Found, Shared, has_workers, share_signal
from underfed_server.diagnosis.examination import Examination, read_from
from underfed_server.diagnosis.storage_rate import LIMITED_GROWTH, reads_files, storage_rate
from underfed_server.model import Evidence

LEAST_SHARE = 0.25
"""Share of load time blocked from which it matters what it is blocked on."""


def find(examined: Examination) -> Found | None:
    rank = examined.rank
    blocked, rate = measures.load_share(rank, rank.batches.blocked_us), storage_rate(rank)
    if rate is None or not rate.is_limited or blocked is None or blocked < LEAST_SHARE or not reads_files(rank):
        return None
    where = read_from(examined)
    return Found(
        min(examined.unexplained, examined.wait.loading * blocked),
        f"Loads that read from {where} at the same time share one rate: more readers get no more of it together.",
        [
            Evidence(what="Blocked, of load time", value=blocked, unit="fraction", series="blocked_us"),
            Evidence(what="Loads at once, when they were few", value=rate.few, unit="count"),
            Evidence(what="All of them then read", value=rate.few_bytes_per_s, unit="bytes_per_s"),
            Evidence(what="Loads at once, when they were many", value=rate.many, unit="count"),
            Evidence(what="All of those read", value=rate.many_bytes_per_s, unit="bytes_per_s"),
        ],
    )


def _growth(examined: Examination) -> float | None:
    rate = storage_rate(examined.rank) if reads_files(examined.rank) else None
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
