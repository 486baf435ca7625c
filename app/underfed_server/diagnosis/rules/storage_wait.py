"""``storage_wait``: loading is blocked on reads that really reach storage, not the page cache."""

from __future__ import annotations

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import load_share, mean, read_bytes_per_s, storage_fraction
from underfed_server.diagnosis.storage import describe, storage_place, waits_only_at_first
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    share, rank = judged.loads.storage, judged.rank
    if share is None or share < limits.storage_fraction:
        return None
    place = storage_place(judged.facts, rank)
    return CauseFinding(
        cause="storage_wait",
        cost_fraction=min(judged.loading_left, judged.wait.loading * share),
        sentence=_sentence(judged, limits),
        evidence=[
            Evidence(what="Reading from storage, of load time", value=share, unit="fraction"),
            Evidence(
                what="Loading blocked",
                value=load_share(rank, rank.batches.blocked_us),
                unit="fraction",
                series="blocked_us",
            ),
            Evidence(what="Read from storage, of bytes asked for", value=storage_fraction(rank), unit="fraction"),
            Evidence(what="Read from storage", value=read_bytes_per_s(rank), unit="bytes_per_s", series="read_bytes"),
            Evidence(what="Read from storage for one batch", value=mean(rank.batches.read_bytes), unit="bytes"),
            Evidence(what="Asked for one batch", value=mean(rank.batches.asked_bytes), unit="bytes"),
            Evidence(what="The data lies on", value=describe(place) if place else None, unit="setting"),
            Evidence(what="File system", value=place.file_system if place else None, unit="setting"),
        ],
    )


def _sentence(judged: Judged, limits: Limits) -> str:
    where = describe(storage_place(judged.facts, judged.rank))
    if waits_only_at_first(judged.rank, limits.cold_epoch_factor):
        return f"Loading waits for {where} in the first epoch; later ones find their files in the page cache."
    return f"Loading waits for {where}: the reads are not served by the page cache."
