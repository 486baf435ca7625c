"""``slow_collate``: joining samples into a batch is the main part of loading it."""

from __future__ import annotations

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import mean
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    share, loader = judged.loads.collate, judged.loader
    if share is None or share < limits.collate_fraction:
        return None
    collate = (loader.collate_type if loader else None) or "the collate function"
    return CauseFinding(
        cause="slow_collate",
        cost_fraction=min(judged.loading_left, judged.wait.loading * share),
        sentence=f"Most of a load is joining samples into a batch ({collate}), not getting them.",
        evidence=[
            Evidence(what="Joining samples, of load time", value=share, unit="fraction", series="collate_us"),
            Evidence(
                what="Joining one batch", value=mean(judged.rank.batches.collate_us), unit="us", series="collate_us"
            ),
            Evidence(what="Loading one batch", value=mean(judged.rank.batches.load_us), unit="us", series="load_us"),
            Evidence(what="Size of a batch", value=loader.batch_bytes if loader else None, unit="bytes"),
            Evidence(what="Tensors in a batch", value=loader.batch_tensors if loader else None, unit="count"),
        ],
    )
