"""``underfed.prefetch``: the next batch is copied on a stream of its own while the GPU works on this one."""

from __future__ import annotations

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.copies import blocks_though_pinned, ceiling, copy_evidence
from underfed_server.advice.offer import Offer
from underfed_server.advice.shares import gain_without
from underfed_server.measurements import Column

DIFF = """\
+import underfed
+
-for batch in loader:
-    batch = batch.to(device)
+for batch in underfed.prefetch(loader, device=device):"""


def consider(case: Case) -> Offer | None:
    """For the copy time that is exposed although batches are page-locked."""
    if not blocks_though_pinned(case):
        return None
    return Offer(
        to="underfed.prefetch",
        title="Copy the next batch while the GPU works",
        why="The GPU waits for the copy of each batch, though the batch could be copied during the step before.",
        risk="The GPU's memory holds one batch more. Batches keep their order.",
        diff=DIFF,
        evidence=copy_evidence(case),
        gain=gain_without(case.rank.steps.step_us, _hidden_us(case)),
        assumption="Copies then run beside the work of the step before, and do not slow it down.",
        ceiling=ceiling(case),
    )


def _hidden_us(case: Case) -> Column:
    """The part of each exposed copy that fits beside the rest of the step: the remainder stays exposed."""
    steps = case.rank.steps
    rest = steps.step_us - steps.h2d_exposed_us
    left_over = np.maximum(0.0, np.where(np.isfinite(steps.h2d_us), steps.h2d_us, 0.0) - rest)
    return np.maximum(0.0, steps.h2d_exposed_us - left_over)


CHANGE = Change(
    label="CUDA prefetcher",
    consider=consider,
    needs_cause=False,
    alters_work=True,
)
