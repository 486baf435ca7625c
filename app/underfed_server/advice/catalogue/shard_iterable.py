"""Let each worker yield its own share of an iterable data set, or each rank load its own instead of one for all."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.advice.proof.traits import Traits, gone
from underfed_server.diagnosis import evidence
from underfed_server.model import Evidence

DIFF = """\
 class YourDataset(IterableDataset):
     def __iter__(self):
-        for file in self.files:
+        info = torch.utils.data.get_worker_info()
+        first, stride = (info.id, info.num_workers) if info else (0, 1)
+        for file in self.files[first::stride]:  # or shards, or offsets: divided before anything of them is read
             yield from self.samples_of(file)"""
"""Not by ``itertools.islice`` over the samples: each worker would load all of them and leave out most."""

DISPATCH_DIFF = """\
-accelerator = Accelerator()
+accelerator = Accelerator(dataloader_config=DataLoaderConfiguration(dispatch_batches=False))
 # with the Trainer of transformers:
+TrainingArguments(accelerator_config={"dispatch_batches": False})"""


def consider(case: Case) -> Offer:
    return _among_workers(case) if case.found("unsharded_iterable") else _among_ranks(case)


def _among_ranks(case: Case) -> Offer:
    risk = "The order of samples changes."
    if case.loader.is_iterable:
        risk += (
            " A rank then goes through all of the stream and keeps its share, unless that is divided by rank, too: "
            "split_dataset_by_node (datasets), split_by_node (webdataset)."
        )
    return Offer(
        to="dispatch_batches=False",
        title="Let each rank load its own batches",
        why=f"Rank {case.rank.rank} loads the batches of all ranks, and they wait for its workers alone.",
        risk=risk,
        diff=DISPATCH_DIFF,
        evidence=[
            evidence.load(case.rank),
            evidence.work(case.rank),
            evidence.setting("num_workers", case.loader.num_workers),
            evidence.usable_cores(case.facts.host),
        ],
        from_="dispatch_batches=True",
        changes_batch_order=True,
        gain="how fast the other ranks load was not seen: only one did",
    )


def _among_workers(case: Case) -> Offer:
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
        gain="no sample is loaded twice in an epoch; steps take as long as before where the data are divided before "
        "they are read, and longer where each worker reads all and leaves out what is not its own",
    )


def _is_shared_out(earlier: Traits, later: Traits) -> bool:
    return any(gone(name)(earlier, later) for name in ("repeated_batches", "dispatched"))


CHANGE = Change(
    label="sharded iterable",
    consider=consider,
    sign=_is_shared_out,
)
