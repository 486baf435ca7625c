"""``pageable_copy``: batches are copied to the device from memory that is not page-locked, and the device waits.

Such a copy goes through a buffer of the driver's and cannot run beside the model's work. Its cost is no part of the
wait for data, it comes after it.
"""

from __future__ import annotations

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import exposed_copy_us, mean
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    exposed, loader = exposed_copy_us(judged.rank), judged.loader
    if exposed is None or loader is None or loader.settings.get("pin_memory") is not False:
        return None
    cost = min(1.0, exposed / judged.rank.step_us)
    if cost < limits.minor_cost_fraction:
        return None
    return CauseFinding(
        cause="pageable_copy",
        cost_fraction=cost,
        sentence="Batches are copied to the GPU from pageable memory, and the GPU waits for the copy.",
        evidence=[
            Evidence(what="Copy that is not hidden", value=exposed, unit="us", series="h2d_exposed_us"),
            Evidence(what="Copying one batch", value=mean(judged.rank.steps.h2d_us), unit="us", series="h2d_us"),
            Evidence(what="Size of a batch", value=loader.batch_bytes, unit="bytes"),
            Evidence(what="pin_memory", value="False", unit="setting"),
        ],
    )
