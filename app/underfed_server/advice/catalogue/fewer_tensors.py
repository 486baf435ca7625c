"""Join the tensors of a batch in the worker, so that a few large ones are handed over."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.advice.proof.traits import halved
from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence

FUNCTION = """\
+def join(samples: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
+    lengths = torch.tensor([len(sample) for sample in samples])
+    return torch.cat(samples), lengths  # torch.split(joined, lengths.tolist()) splits it again"""


def consider(case: Case) -> Offer | None:
    tensors = case.loader.batch_tensors
    if not case.num_workers or tensors is None or tensors < THRESHOLDS.many_tensors:
        return None
    return Offer(
        to="joined in collate_fn",
        title="Hand over a few large tensors",
        why=f"Each of the {tensors:,} tensors of a batch is handed over, mapped and released separately.",
        risk="The training loop has to split the batch again; views of one tensor cost next to nothing.",
        diff=FUNCTION,
        call={"collate_fn": "join"},
        evidence=[
            evidence.batch_tensors(case.loader),
            evidence.batch_bytes(case.loader),
            Evidence(what="Handing over one loaded batch", value=measures.handover_us(case.rank), unit="us"),
        ],
        from_=tensors,
        gain="it depends on how few tensors the program can join a batch into",
    )


CHANGE = Change(
    label="fewer tensors",
    consider=consider,
    sign=halved("batch_tensors"),
    alters="batch_tensors",
)
