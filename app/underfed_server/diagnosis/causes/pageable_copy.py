"""Batches are copied to the device from memory that is not page-locked, and the device waits.

Such a copy goes through a buffer of the driver's and cannot run beside the model's work. Its cost is no part of the
wait for data, it comes after it.
"""

from __future__ import annotations

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.measures import exposed_copy_us
from underfed_server.diagnosis.signals import under
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence, Signal


def find(examined: Examination) -> Found | None:
    rank, exposed, loader = examined.rank, exposed_copy_us(examined.rank), examined.loader
    if exposed is None or loader is None or loader.settings.get("pin_memory") is not False:
        return None
    cost = min(1.0, exposed / rank.step_us)
    if cost < THRESHOLDS.minor_cost_fraction:
        return None
    return Found(
        cost,
        "Batches are copied to the GPU from pageable memory, and the GPU waits for the copy.",
        [
            Evidence(what="Copy that is not hidden", value=exposed, unit="us", series="h2d_exposed_us"),
            evidence.mean_us("Copying one batch", rank.steps.h2d_us, "h2d_us"),
            evidence.batch_bytes(loader),
            evidence.setting("pin_memory", False),
        ],
    )


def signals(examined: Examination, is_found: bool) -> list[Signal]:
    if not examined.facts.uses_gpu:
        return []
    exposed = exposed_copy_us(examined.rank)
    share = None if exposed is None else exposed / examined.rank.step_us
    return [
        under(THRESHOLDS.watch_fraction, "Copy to the device that is not hidden", "of step time", share, "exposed copy",
              is_cause=is_found, series="h2d_exposed_us")
    ]  # fmt: skip


CAUSE = Cause(
    label="pageable copy",
    about="Batches are copied to the GPU from memory that is not page-locked, and the GPU waits for the copy.",
    find=find,
    cured_by=("non_blocking", "pin_memory", "prefetcher"),
    signals=signals,
    is_of_copy=True,
)
