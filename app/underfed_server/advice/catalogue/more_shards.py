"""Store an iterable data set in at least as many shards as there are workers."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.advice.prediction.predict import Prediction
from underfed_server.advice.prediction.workload import PredictionError
from underfed_server.advice.proof.traits import grown
from underfed_server.advice.search import cheapest, more_than_shards, shard_limit, with_workers
from underfed_server.diagnosis import evidence
from underfed_server.model import Evidence

HUGGING_FACES = """\
 # a data set in memory or in Arrow files:
-dataset = dataset.to_iterable_dataset()
+dataset = dataset.to_iterable_dataset(num_shards={shards})
 # a streamed one has a shard for each of its files:
+dataset.save_to_disk(path, num_shards={shards})"""

WEBDATASETS = """\
 # write the samples again, into {shards} tar files or more:
+with webdataset.ShardWriter("shards/%06d.tar", maxcount=samples // {shards}) as writer:
+    for sample in webdataset.WebDataset(urls, shardshuffle=False):
+        writer.write(sample)"""

ANY = """\
 class YourDataset(IterableDataset):
-    shards = [...]
+    shards = [...]  # the same samples, in {shards} files or ranges or more: each worker reads its own"""

DIFFS = {"IterableDataset": HUGGING_FACES, "WebDataset": WEBDATASETS, "DataPipeline": WEBDATASETS}
"""By the class of the data set: of Hugging Face's datasets, and of webdataset."""


def consider(case: Case) -> Offer | None:
    limit = shard_limit(case)
    if limit is None or not case.waits_for_data or (limit > case.num_workers and not case.found("few_shards")):
        return None
    wanted, gain = _wanted(case)
    if wanted is None:
        return None
    idle = case.num_workers - limit
    why = (
        f"{idle} of {case.num_workers} workers have no shard to load from." if idle > 0 else "No worker could be added."
    )
    return Offer(
        to=wanted,
        title=f"Divide the data set into {wanted} shards or more",
        why=f"A shard is read by one worker alone. {why}",
        risk="The order of samples changes. A multiple of the number of workers gives each as much to load.",
        diff=DIFFS.get(case.loader.dataset_type or "", ANY).format(shards=wanted),
        evidence=[
            Evidence(what="Shards of the data set, for this rank", value=case.loader.dataset_shards, unit="count"),
            evidence.setting("num_workers", case.num_workers),
            evidence.load(case.rank),
            evidence.usable_cores(case.facts.host),
        ],
        from_=case.loader.dataset_shards,
        changes_batch_order=True,
        gain=gain,
        assumption="Workers that got a shard load as fast as those that have one.",
    )


def _wanted(case: Case) -> tuple[int | None, Prediction | str]:
    """How many, one for each worker: those that there are, else as many as would keep up; and what that gains."""
    try:
        predictor = case.predicting()
        if case.found("few_shards"):
            return case.num_workers, predictor.predict(with_workers(case, case.num_workers))
        best = cheapest({setting: predictor.quick(setting) for setting in more_than_shards(case)})
        return (best.num_workers, predictor.predict(best)) if best else (None, "")
    except PredictionError as error:
        return (case.num_workers if case.found("few_shards") else None), str(error)


CHANGE = Change(
    label="more shards",
    consider=consider,
    sign=grown("dataset_shards"),
)
