"""``shard_iterable``: an iterable data set that does not ask which worker it is in yields every sample in each."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.advice.case import Case
from underfed_server.advice.offer import Offer, offer_unpredicted
from underfed_server.model import Advice, Evidence, Refusal

DIFF = """\
 class YourDataset(IterableDataset):
     def __iter__(self):
-        yield from self.samples()
+        info = torch.utils.data.get_worker_info()
+        first, stride = (info.id, info.num_workers) if info else (0, 1)
+        yield from itertools.islice(self.samples(), first, None, stride)  # better: each worker opens its own files"""


def consider(case: Case) -> Sequence[Advice | Refusal]:
    if case.found("unsharded_iterable") is None:
        return []
    return [offer_unpredicted(case, _offer(case))]


def _offer(case: Case) -> Offer:
    compared, repeated = case.loader.compared_batches, case.loader.repeated_batches
    return Offer(
        change="shard_iterable",
        to="get_worker_info()",
        title="Give each worker its own share of the data",
        why=f"Each of {case.num_workers} workers yields the whole data set: every sample is trained on so often.",
        risk="An epoch becomes shorter by so many times, and with it a schedule that counts steps.",
        diff=DIFF,
        evidence=[
            Evidence(what="Batches compared between workers", value=compared, unit="count"),
            Evidence(what="Of these given by another worker, too", value=repeated, unit="count"),
        ],
        from_=case.loader.dataset_type,
        in_call=False,
        changes_batch_order=True,
        unknown="steps take as long as before; what is gained is that no sample is loaded twice in an epoch",
    )
