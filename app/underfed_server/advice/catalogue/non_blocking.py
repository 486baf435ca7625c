"""``non_blocking``: the training process goes on while the device copies, which needs page-locked memory."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.advice.case import Case
from underfed_server.advice.copies import ceiling, copy_evidence, is_exposed, is_pinned
from underfed_server.advice.offer import Offer, offer_unpredicted
from underfed_server.model import Advice, Refusal

DIFF = """\
 for batch in loader:
-    batch = batch.to(device)
+    batch = batch.to(device, non_blocking=True)"""


def consider(case: Case) -> Sequence[Advice | Refusal]:
    """From ordinary memory the copy blocks anyway, so only where batches are page-locked."""
    if not (is_pinned(case) and case.facts.uses_gpu and is_exposed(case)):
        return []
    if not (case.waits_for_data or case.verdict.bound == "transfer"):
        return []
    return [offer_unpredicted(case, _offer(case)).model_copy(update={"ceiling": ceiling(case)})]


def _offer(case: Case) -> Offer:
    return Offer(
        change="non_blocking",
        to=True,
        title="Do not wait for the copy to the GPU",
        why="Batches are page-locked, so the training process can launch the step while they are copied.",
        risk=(
            "Only from the host to the device: the other way, .cpu() or .to('cpu') with non_blocking reads memory "
            "that is not filled yet. Do not write to a batch that may still be copied."
        ),
        diff=DIFF,
        evidence=copy_evidence(case),
        in_call=False,
        unknown="whether the loop does so already, and what else keeps it from running ahead, was not seen",
    )
