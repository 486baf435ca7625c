"""``slow_rank``: all ranks go in step, and one waits for its input far longer than the others, which wait for it."""

from __future__ import annotations

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import mean
from underfed_server.diagnosis.ranks import stragglers
from underfed_server.diagnosis.sentence import percent
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    rank, usual = judged.rank, judged.facts.median_rank
    if rank.rank not in {each.rank for each in stragglers(judged.facts, limits)}:
        return None
    where = f" (host {rank.hostname})" if rank.hostname else ""
    return CauseFinding(
        cause="slow_rank",
        cost_fraction=rank.stall_fraction - usual.stall_fraction,
        sentence=(
            f"Rank {rank.rank}{where} waits for its input {percent(rank.stall_fraction)} of every step, the median "
            f"rank {percent(usual.stall_fraction)}; all the others wait for it when they synchronise."
        ),
        evidence=[
            Evidence(what=f"Rank {rank.rank} waits, of step time", value=rank.stall_fraction, unit="fraction"),
            Evidence(what="The median rank", value=usual.stall_fraction, unit="fraction"),
            Evidence(what="Loading one batch there", value=mean(rank.batches.load_us), unit="us", series="load_us"),
            Evidence(what="On the median rank", value=mean(usual.batches.load_us), unit="us"),
            Evidence(what="CPU time to load one there", value=mean(rank.batches.cpu_us), unit="us", series="cpu_us"),
            Evidence(what="CPU time on the median rank", value=mean(usual.batches.cpu_us), unit="us"),
        ],
    )
