"""Joining samples into a batch is the main part of loading it."""

from __future__ import annotations

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, load_signal
from underfed_server.diagnosis.examination import Examination
from underfed_server.model import Evidence

LEAST_SHARE = 0.40
"""Share of load time from which joining samples is the main part of a load, the rest being spread over reading,
decoding and transforming: with less, making it instant does not even gain a factor of 1.7."""


def find(examined: Examination) -> Found | None:
    share, loader, batches = examined.loads.collate, examined.loader, examined.rank.batches
    if share is None or share < LEAST_SHARE:
        return None
    collate = (loader.collate_type if loader else None) or "the collate function"
    return Found(
        min(examined.unexplained, examined.wait.loading * share),
        f"Most of a load is joining samples into a batch ({collate}), not reading or decoding them.",
        [
            Evidence(what="Joining samples, of load time", value=share, unit="fraction", series="collate_us"),
            evidence.mean_us("Joining one batch", batches.collate_us, "collate_us"),
            evidence.load(examined.rank),
            evidence.batch_bytes(loader),
            evidence.batch_tensors(loader),
        ],
    )


CAUSE = Cause(
    label="slow collate",
    find=find,
    cured_by=("smaller_dtype", "vectorize_collate"),
    signals=(load_signal("Joining samples into batches", "collate_us", LEAST_SHARE, "slow collate"),),
    is_of_loading=True,
)
