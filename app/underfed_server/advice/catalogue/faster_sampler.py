"""``faster_sampler``: indices are drawn in the training process, so that a slow sampler holds up every step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.offer import Offer, offer_computed
from underfed_server.advice.shares import gain_without
from underfed_server.diagnosis import measures
from underfed_server.facts.record import Column, RankFacts
from underfed_server.model import Advice, Evidence, Refusal

DIFF = """\
 class YourSampler(Sampler):
     def __iter__(self):
-        for _ in range(len(self)):
-            yield int(torch.multinomial(self.weights, 1))
+        yield from torch.multinomial(self.weights, len(self), replacement=True).tolist()"""


def consider(case: Case) -> Sequence[Advice | Refusal]:
    cause, steps = case.found("slow_sampler"), case.rank.steps
    if cause is None:
        return []
    gain = gain_without(steps.step_us, drawn_us(case.rank), at_most=cause.cost_fraction)
    ceiling = case.rank.step_us / max(case.rank.step_us - case.rank.data_wait_us, 1.0)
    assumption = "Drawing indices is taken to cost next to nothing then; the workers keep up as they do now."
    return offer_computed(case, gain, _offer(case), assumption, ceiling)


def drawn_us(rank: RankFacts) -> Column:
    """Of each step's wait, drawing its indices, and in an epoch's first those that are drawn as it begins."""
    steps = rank.steps
    at_begin = {epoch.epoch_index: float(epoch.sampler_us) for epoch in rank.epochs if epoch.sampler_us is not None}
    begun = np.array([at_begin.get(int(epoch), 0.0) for epoch in np.nan_to_num(steps.epoch_index, nan=-1.0)])
    begun = np.where(steps.is_epoch_start, begun, 0.0)
    drawn = np.nan_to_num(steps.sampler_us) if at_begin else steps.sampler_us
    return np.minimum(begun + drawn, steps.data_wait_us)


def _offer(case: Case) -> Offer:
    drawn = measures.mean(case.rank.steps.sampler_us)
    return Offer(
        change="faster_sampler",
        to="drawn at once",
        title="Draw the indices of an epoch at once",
        why="The training process draws the indices of each batch itself, and waits for that.",
        risk="Other random numbers are drawn: the order of samples is another for the same seed.",
        diff=DIFF,
        evidence=[
            Evidence(what="Drawing the indices of one batch", value=drawn, unit="us", series="sampler_us"),
            Evidence(what="Length of the data set", value=case.loader.dataset_length, unit="count"),
        ],
        from_=case.loader.sampler_type,
        in_call=False,
        changes_batch_order=True,
    )
