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
+def join(samples):
+    if isinstance(samples[0], dict):
+        return {name: join([sample[name] for sample in samples]) for name in samples[0]}
+    if isinstance(samples[0], tuple):
+        return [join(field) for field in zip(*samples)]
+    if isinstance(samples[0], str):
+        return list(samples)
+    tensors = [torch.as_tensor(sample) for sample in samples]
+    return torch.cat([tensor.reshape(-1) for tensor in tensors]), [list(tensor.shape) for tensor in tensors]
+def split(joined, shapes):  # each field, in the training loop: views of it, nothing is copied
+    parts = joined.split([math.prod(shape) for shape in shapes])
+    return [part.reshape(shape) for part, shape in zip(parts, shapes)]"""


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
