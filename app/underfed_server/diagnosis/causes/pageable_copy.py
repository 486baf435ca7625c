"""Batches are copied to the GPU from memory that is not page-locked, and the GPU waits for the copy.

Such a copy goes through a buffer of the driver's and cannot run beside the model's work. Its cost is no part of the
wait for data, it comes after it.
"""

from __future__ import annotations

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, share_signal
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.measures import exposed_copy_us
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence


def find(examined: Examination) -> Found | None:
    rank, exposed, loader = examined.rank, exposed_copy_us(examined.rank), examined.loader
    if exposed is None or loader is None or loader.settings.get("pin_memory") is not False:
        return None
    return Found(
        min(1.0, exposed / rank.step_us),
        "Batches are copied to the GPU from pageable memory, and the GPU waits for the copy.",
        [
            Evidence(what="Copy that is not hidden", value=exposed, unit="us", series="h2d_exposed_us"),
            evidence.mean_us("Copying one batch", rank.steps.h2d_us, "h2d_us"),
            evidence.batch_bytes(loader),
            evidence.setting("pin_memory", False),
        ],
    )


def _exposed_share(examined: Examination) -> float | None:
    exposed = exposed_copy_us(examined.rank)
    return None if exposed is None else exposed / examined.rank.step_us


CAUSE = Cause(
    label="pageable copy",
    find=find,
    cured_by=("non_blocking", "pin_memory", "prefetcher", "smaller_dtype"),
    signals=(
        share_signal(
            "Copy to the device that is not hidden",
            _exposed_share,
            THRESHOLDS.watch_fraction,
            says="exposed copy",
            series="h2d_exposed_us",
            where=lambda examined: examined.facts.uses_gpu,
        ),
    ),
    is_of_copy=True,
)
