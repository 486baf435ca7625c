"""``fewer_tensors``: what is joined in the worker is handed over at once."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.advice.case import Case
from underfed_server.advice.diff import call
from underfed_server.advice.offer import Offer, offer_unpredicted
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.limits import LIMITS
from underfed_server.model import Advice, Evidence, Refusal


def consider(case: Case) -> Sequence[Advice | Refusal]:
    tensors = case.loader.batch_tensors
    if not case.num_workers or tensors is None or tensors < LIMITS.many_tensors:
        return []
    if case.found("ipc_copy", "pin_thread") is None:
        return []
    return [offer_unpredicted(case, _offer(case, tensors))]


def _offer(case: Case, tensors: int) -> Offer:
    return Offer(
        change="fewer_tensors",
        to="joined in collate_fn",
        title="Hand over a few large tensors",
        why=f"Each of the {tensors:,} tensors of a batch is handed over, mapped and released by itself.",
        risk="The training loop has to take the batch apart again; views of one tensor cost next to nothing.",
        diff=_diff(case),
        evidence=[
            Evidence(what="Tensors in a batch", value=tensors, unit="count"),
            Evidence(what="Size of a batch", value=case.loader.batch_bytes, unit="bytes"),
            Evidence(what="A batch takes to be received", value=measures.handover_us(case.rank), unit="us"),
        ],
        from_=tensors,
        unknown="how few tensors the batch can be joined into is the program's to say",
    )


def _diff(case: Case) -> str:
    function = [
        "+def join(samples: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:",
        "+    lengths = torch.tensor([len(sample) for sample in samples])",
        "+    return torch.cat(samples), lengths  # torch.split(joined, lengths.tolist()) takes it apart",
        " ",
    ]
    return "\n".join([*function, call(case.loader, ["+collate_fn=join,"])])
