"""Copy batches to the GPU with ``non_blocking=True``, so that the training process goes on meanwhile."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change, Outcomes
from underfed_server.advice.copies import ceiling, copy_evidence, is_exposed, is_pinned, waits_for_input
from underfed_server.advice.offer import Offer, offer_unpredicted

DIFF = """\
 for batch in loader:
-    batch = batch.to(device)
+    batch = batch.to(device, non_blocking=True)"""


def consider(case: Case) -> Outcomes:
    """From pageable memory the copy blocks anyway, so only where batches are page-locked."""
    if not (is_pinned(case) and case.facts.uses_gpu and is_exposed(case) and waits_for_input(case)):
        return []
    return [offer_unpredicted(case, _offer(case)).model_copy(update={"ceiling": ceiling(case)})]


def _offer(case: Case) -> Offer:
    return Offer(
        to=True,
        title="Do not wait for the copy to the GPU",
        why="Batches are page-locked, so the training process can launch the step while a batch is being copied.",
        risk=(
            "Only from the host to the device: in the other direction, .to('cpu', non_blocking=True) returns memory "
            "that is not filled yet. Do not write to a batch while it may still be being copied."
        ),
        diff=DIFF,
        evidence=copy_evidence(case),
        in_call=False,
        unknown="whether the loop does so already was not seen",
    )


CHANGE = Change(
    label="non-blocking copy",
    consider=consider,
)
