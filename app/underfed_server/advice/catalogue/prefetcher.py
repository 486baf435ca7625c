"""``prefetcher``: the next batch is copied on a stream of its own while the device works on this one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.copies import ceiling, copy_evidence, is_exposed, is_pinned
from underfed_server.advice.offer import Offer, offer_computed
from underfed_server.advice.shares import gain_without
from underfed_server.facts.record import Column
from underfed_server.model import Advice, Refusal

DIFF = """\
+import underfed
+
-for batch in loader:
-    batch = batch.to(device)
+for batch in underfed.prefetch(loader, device=device):"""


def consider(case: Case) -> Sequence[Advice | Refusal]:
    """What page-locked batches leave exposed."""
    if not (is_pinned(case) and case.facts.uses_gpu and is_exposed(case)):
        return []
    if not (case.waits_for_data or case.verdict.bound == "transfer"):
        return []
    gain = gain_without(case.rank.steps.step_us, hidden_us(case))
    assumption = "Copies then run beside the work of the step before, and slow it down by nothing."
    return offer_computed(case, gain, _offer(case), assumption, ceiling(case))


def hidden_us(case: Case) -> Column:
    """Of each exposed copy what fits beside the rest of the step: a copy longer than that stays exposed."""
    steps = case.rank.steps
    rest = steps.step_us - steps.h2d_exposed_us
    left_over = np.maximum(0.0, np.where(np.isfinite(steps.h2d_us), steps.h2d_us, 0.0) - rest)
    return np.maximum(0.0, steps.h2d_exposed_us - left_over)


def _offer(case: Case) -> Offer:
    return Offer(
        change="prefetcher",
        to="underfed.prefetch",
        title="Copy the next batch while the GPU works",
        why="The GPU waits for the copy of each batch, though there is time to make it during the step before.",
        risk="One batch more lies in the GPU's memory. Batches keep their order.",
        diff=DIFF,
        evidence=copy_evidence(case),
        in_call=False,
    )
