"""Copy batches to the GPU with ``non_blocking=True``, so that the training process goes on meanwhile."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.copies import blocks_though_pinned, ceiling, copy_evidence
from underfed_server.advice.offer import Offer

DIFF = """\
 for batch in loader:
-    batch = batch.to(device)
+    batch = batch.to(device, non_blocking=True)"""


def consider(case: Case) -> Offer | None:
    """From pageable memory the copy blocks anyway, so only where batches are page-locked."""
    if not blocks_though_pinned(case):
        return None
    return Offer(
        to=True,
        title="Do not wait for the copy to the GPU",
        why="Batches are page-locked, so the training process can launch the step while a batch is being copied.",
        risk=(
            "Only from the host to the device: in the other direction, .to('cpu', non_blocking=True) returns memory "
            "that is not filled yet. Do not write to a batch before its copy has ended."
        ),
        diff=DIFF,
        evidence=copy_evidence(case),
        gain="whether the loop does so already was not seen",
        ceiling=ceiling(case),
    )


CHANGE = Change(
    label="non-blocking copy",
    consider=consider,
    needs_cause=False,
    alters_work=True,
)
