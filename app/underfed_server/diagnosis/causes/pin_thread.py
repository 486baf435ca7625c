"""Loaded batches wait for the one thread that copies them into page-locked memory."""

from __future__ import annotations

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, share_signal
from underfed_server.diagnosis.examination import Examination


def find(examined: Examination) -> Found | None:
    cost, rank, loader = examined.wait.pin, examined.rank, examined.loader
    if cost is None or loader is None:
        return None
    return Found(
        cost,
        "Loaded batches wait for the thread that copies them into page-locked memory.",
        [
            evidence.mean_us("Copying one batch", rank.batches.pin_us, "pin_us"),
            evidence.step(rank),
            evidence.batch_bytes(loader),
            evidence.batch_tensors(loader),
        ],
    )


def _is_pinned(examined: Examination) -> bool:
    if examined.wait.pin is not None:
        return True
    return bool(examined.workers and examined.loader and examined.loader.settings.get("pin_memory"))


CAUSE = Cause(
    label="slow pinning",
    find=find,
    cured_by=("fewer_tensors", "prefetcher", "smaller_dtype"),
    signals=(share_signal("Waiting for the pin thread", lambda examined: examined.wait.pin, where=_is_pinned),),
)
