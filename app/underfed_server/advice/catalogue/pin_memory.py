"""``pin_memory``: batches are put into page-locked memory, from which the device copies by itself."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.advice.bounds import BOUNDS
from underfed_server.advice.case import Case
from underfed_server.advice.copies import ceiling, copy_evidence, exposed_fraction, is_exposed, is_pinned
from underfed_server.advice.diff import diff_of
from underfed_server.advice.offer import Offer, offer_unpredicted
from underfed_server.model import Advice, Evidence, Refusal


def consider(case: Case) -> Sequence[Advice | Refusal]:
    if case.loader.num_workers is None or is_pinned(case):
        return []
    if not (case.waits_for_data or case.verdict.bound == "transfer"):
        return []
    why = _why_not(case)
    if why is not None:
        return [Refusal(change="pin_memory", title="Page-locked memory", why=why, evidence=_evidence(case))]
    return [_advice(case)] if is_exposed(case) else []


def _advice(case: Case) -> Advice:
    advice = offer_unpredicted(case, _offer(case))
    return advice.model_copy(update={"ceiling": ceiling(case)})


def _why_not(case: Case) -> str | None:
    if not case.facts.uses_gpu:
        return "There is no GPU to copy to."
    if case.is_short_of_memory:
        return "Memory is short, and page-locked memory is taken from all others for good."
    if (case.rank.process.swap_bytes or 0) > 0:
        return "Part of this run is swapped out already, and page-locked memory cannot be."
    if _are_tiny(case):
        return "The batch is thousands of tiny tensors: locking the pages of each costs more than a faster copy saves."
    exposed = exposed_fraction(case)
    if exposed is not None and not is_exposed(case):
        return "The copy to the GPU is hidden behind its work already."
    return None


def _are_tiny(case: Case) -> bool:
    tensors, size = case.loader.batch_tensors, case.loader.batch_bytes
    return tensors is not None and tensors >= BOUNDS.tiny_tensors and (size or 0) / tensors < BOUNDS.tiny_tensor_bytes


def _evidence(case: Case) -> list[Evidence]:
    if not case.facts.uses_gpu:
        return [Evidence(what="GPUs in use", value=0, unit="count")]
    host, process = case.facts.host, case.rank.process
    return [
        *copy_evidence(case)[:2],
        Evidence(what="Tensors in a batch", value=case.loader.batch_tensors, unit="count"),
        Evidence(what="Swapped out of this run", value=process.swap_bytes, unit="bytes"),
        Evidence(what="Memory available", value=host.memory_available_bytes, unit="bytes"),
    ]


def _offer(case: Case) -> Offer:
    return Offer(
        change="pin_memory",
        to=True,
        title="Page-lock batches before they are copied",
        why="Batches are copied to the GPU from ordinary memory: in pieces, and while the training process waits.",
        risk="Page-locked memory is taken from the rest of the machine; a thread of the training process fills it.",
        diff=diff_of(case.loader, {"pin_memory": True}, case.facts.overrides),
        evidence=copy_evidence(case),
        settings={"pin_memory": True},
        unknown="how fast this machine copies from page-locked memory was not seen in this run",
    )
