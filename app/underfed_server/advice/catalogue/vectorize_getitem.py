"""Fetch a batch of small samples with one call of ``__getitems__``."""

from __future__ import annotations

import math

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer, refuse
from underfed_server.advice.search import do_workers_sleep
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.rounded import percent
from underfed_server.facts.costly_lines import share_of
from underfed_server.model import Evidence, Refusal

DIFF = """\
 class YourDataset(Dataset):
-    def __getitem__(self, index):
-        return self.features[index], self.labels[index]
+    def __getitems__(self, indices):
+        return torch.as_tensor(self.features[indices]), torch.as_tensor(self.labels[indices])
 loader = DataLoader(
     dataset,
+    collate_fn=lambda batch: batch,  # a named function where workers are spawned
 )"""

SMALL_SAMPLE_US = 100.0
"""CPU time of one sample below which calling Python for each is the work: an index into an array in memory takes
5–50 µs, decoding a small JPEG a millisecond."""

WAIT_FACTOR = 2.0
"""How many times as long as it computes a sample has to be waited for: with one wait for all of a batch, loading takes
a third of the time. What is decoded after it was read computes longer."""

MANY_SAMPLES = 32
"""In a batch, from which one call for all of them saves calls worth saving."""


WAITED_FOR = "Each sample is waited for by itself: one call can ask for all of a batch at once."


LEAST_SHARE = 0.05
"""Of loading, in the data set's own ``__getitem__``: with less there is nothing to save by calling it less often."""


def consider(case: Case) -> Offer | Refusal | None:
    sample, is_waited_for = _sample_us(case), _is_waited_for(case)
    if not case.waits_for_data or case.loader.is_iterable or case.loader.fetches_batches:
        return None
    if sample is None or (sample >= SMALL_SAMPLE_US and not is_waited_for):
        return None
    if (share := _share_of_getitem(case)) is not None and share < LEAST_SHARE:
        return _refusal(case, share)
    return Offer(
        to="__getitems__",
        title="Fetch a batch with one call",
        why=WAITED_FOR if is_waited_for else "A sample is so small that calling Python for it is most of the work.",
        risk="Only for data that can be fetched for many indices at once. Batches keep their order.",
        diff=DIFF,
        evidence=[
            Evidence(what="CPU time of one sample", value=sample, unit="us"),
            Evidence(what="Samples in a batch", value=measures.mean(case.rank.batches.samples), unit="count"),
        ],
        from_=case.loader.dataset_type,
        gain="how fast the data set fetches many samples at once was not seen in this run",
    )


def _share_of_getitem(case: Case) -> float | None:
    """``None``: what loading executes was not seen often enough."""
    loading = case.facts.loading
    return None if loading is None else share_of(loading, lambda stage, _places: stage == "getitem")


def _refusal(case: Case, share: float) -> Refusal:
    rows = [Evidence(what="Of loading, in the data set's own code", value=share, unit="fraction")]
    why = f"Calling the data set takes {percent(share)} of loading, as its workers were seen."
    return refuse(case, "Fetching a batch with one call", why, rows)


def _is_waited_for(case: Case) -> bool:
    """Loading is a wait for each sample, with little work between."""
    blocked, cpu = (measures.mean(part) or 0.0 for part in (case.rank.batches.blocked_us, case.rank.batches.cpu_us))
    return do_workers_sleep(case) and blocked >= WAIT_FACTOR * cpu


def _have_no_core(case: Case) -> bool:
    """Where there are as many workers as cores, which wait for samples side by side, one wait takes the place of many.
    More workers would only be more that wait."""
    return _is_waited_for(case) and case.num_workers >= (case.facts.host.usable_cores or math.inf)


def _sample_us(case: Case) -> float | None:
    """CPU time of one sample, joining left out; ``None``: not measured, or too few in a batch to save calls."""
    batches = case.rank.batches
    cpu, collate, samples = (measures.mean(part) for part in (batches.cpu_us, batches.collate_us, batches.samples))
    if cpu is None or not samples or samples < MANY_SAMPLES:
        return None
    return max(0.0, cpu - (collate or 0.0)) / samples


CHANGE = Change(
    label="batched fetching",
    consider=consider,
    goes_first=_have_no_core,
)
