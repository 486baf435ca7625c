"""Loaded batches wait for the one thread that copies them into page-locked memory."""

from __future__ import annotations

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.signals import part_of_wait
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Signal


def find(examined: Examination) -> Found | None:
    cost, rank, loader = examined.wait.pin, examined.rank, examined.loader
    if cost is None or loader is None or cost < THRESHOLDS.minor_cost_fraction:
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


def signals(examined: Examination, is_found: bool) -> list[Signal]:
    if not (examined.workers and examined.loader and examined.loader.settings.get("pin_memory")):
        return []
    limit = THRESHOLDS.minor_cost_fraction
    return [part_of_wait("Waiting for the pin thread", examined.wait.pin, limit, is_cause=is_found)]


CAUSE = Cause(
    label="slow pinning",
    about="Loaded batches wait for the one thread that copies them into page-locked memory.",
    find=find,
    cured_by=("fewer_tensors", "prefetcher"),
    signals=signals,
)
