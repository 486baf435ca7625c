"""Let each worker yield its own share of an iterable data set."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.advice.proof.traits import gone
from underfed_server.model import Evidence

DIFF = """\
 class YourDataset(IterableDataset):
     def __iter__(self):
-        yield from self.samples()
+        info = torch.utils.data.get_worker_info()
+        first, stride = (info.id, info.num_workers) if info else (0, 1)
+        yield from itertools.islice(self.samples(), first, None, stride)  # better: each worker opens its own files"""


def consider(case: Case) -> Offer:
    compared, repeated = case.loader.compared_batches, case.loader.repeated_batches
    return Offer(
        to="get_worker_info()",
        title="Give each worker its own share of the data",
        why=f"Each worker yields the whole data set: every sample is used {case.num_workers} times.",
        risk=f"An epoch has {case.num_workers} times fewer steps then: adapt schedules that count steps.",
        diff=DIFF,
        evidence=[
            Evidence(what="Batches compared between workers", value=compared, unit="count"),
            Evidence(what="Of these given by another worker, too", value=repeated, unit="count"),
        ],
        from_=case.loader.dataset_type,
        changes_batch_order=True,
        gain="steps take as long as before; the gain is that no sample is loaded twice in an epoch",
    )


CHANGE = Change(
    label="sharded iterable",
    consider=consider,
    sign=gone("repeated_batches"),
)
