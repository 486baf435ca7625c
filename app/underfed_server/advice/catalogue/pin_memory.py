"""``pin_memory=True``: batches are put into page-locked memory, from which the device copies by itself."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.copies import (
    ceiling,
    copy_evidence,
    exposed_fraction,
    is_exposed,
    is_pinned,
    waits_for_input,
)
from underfed_server.advice.offer import Offer, refuse
from underfed_server.diagnosis import evidence
from underfed_server.model import Evidence, Refusal

MANY_TENSORS = 1_000
TINY_BYTES = 64 << 10
"""With so many tensors of this mean size in a batch, a call to page-lock each costs more than it saves."""


def consider(case: Case) -> Offer | Refusal | None:
    if case.loader.num_workers is None or is_pinned(case) or not waits_for_input(case):
        return None
    why = _why_not(case)
    if why is not None:
        return refuse(case, "Page-locked memory", why, _evidence(case))
    if not is_exposed(case):
        return None
    return Offer(
        to=True,
        title="Page-lock batches before they are copied",
        why="Batches are copied to the GPU from pageable memory: in pieces, and while the training process waits.",
        risk="The rest of the machine cannot use page-locked memory; a thread of the training process fills it.",
        evidence=copy_evidence(case),
        gain="how fast this machine copies from page-locked memory was not seen in this run",
        ceiling=ceiling(case),
    )


def _why_not(case: Case) -> str | None:
    if not case.facts.uses_gpu:
        return "There is no GPU to copy to."
    if case.is_short_of_memory:
        return "Memory is short, and page-locked memory cannot be swapped out or given to anyone else."
    if (case.rank.process.swap_bytes or 0) > 0:
        return (
            "Part of this run is swapped out already, and page-locked memory would leave even less for the rest of it."
        )
    if _are_tiny(case):
        return "A batch has thousands of tiny tensors: locking the pages of each costs more than a faster copy saves."
    exposed = exposed_fraction(case)
    if exposed is not None and not is_exposed(case):
        return "The copy to the GPU is hidden behind its work already."
    return None


def _are_tiny(case: Case) -> bool:
    tensors, size = case.loader.batch_tensors, case.loader.batch_bytes
    return tensors is not None and tensors >= MANY_TENSORS and (size or 0) / tensors < TINY_BYTES


def _evidence(case: Case) -> list[Evidence]:
    if not case.facts.uses_gpu:
        return [Evidence(what="GPUs in use", value=0, unit="count")]
    host, process = case.facts.host, case.rank.process
    return [
        *copy_evidence(case)[:2],
        evidence.batch_tensors(case.loader),
        Evidence(what="Swapped out of this run", value=process.swap_bytes, unit="bytes"),
        Evidence(what="Memory available", value=host.memory_available_bytes, unit="bytes"),
    ]


CHANGE = Change(
    label="page-locked batches",
    consider=consider,
    needs_cause=False,
    alters_work=True,
)
