"""Choose the samples of an epoch with one call, not one by one."""

from __future__ import annotations

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change, Outcomes
from underfed_server.advice.offer import Offer, offer_computed
from underfed_server.advice.proof.traits import halved
from underfed_server.advice.shares import gain_without
from underfed_server.diagnosis import evidence
from underfed_server.facts.record import RankFacts, epoch_starts
from underfed_server.measurements import Column
from underfed_server.model import Evidence

DIFF = """\
 class YourSampler(Sampler):
     def __iter__(self):
-        for _ in range(len(self)):
-            yield int(torch.multinomial(self.weights, 1))
+        yield from torch.multinomial(self.weights, len(self), replacement=True).tolist()"""


def consider(case: Case) -> Outcomes:
    cause, steps = case.cause, case.rank.steps
    if cause is None:
        return []
    gain = gain_without(steps.step_us, sampler_us(case.rank), at_most=cause.cost_fraction)
    ceiling = case.rank.step_us / max(case.rank.step_us - case.rank.data_wait_us, 1.0)
    assumption = "The sampler then costs next to nothing, and the workers keep up as they do now."
    return offer_computed(case, gain, _offer(case), assumption, ceiling)


def sampler_us(rank: RankFacts) -> Column:
    """Of each step's wait; in an epoch's first step with what the sampler does as the epoch begins."""
    steps = rank.steps
    at_begin = {epoch.epoch_index: float(epoch.sampler_us) for epoch in rank.epochs if epoch.sampler_us is not None}
    begun = np.array([at_begin.get(int(epoch), 0.0) for epoch in np.nan_to_num(steps.epoch_index, nan=-1.0)])
    begun = np.where(epoch_starts(steps), begun, 0.0)
    own = np.nan_to_num(steps.sampler_us) if at_begin else steps.sampler_us
    return np.minimum(begun + own, steps.data_wait_us)


def _offer(case: Case) -> Offer:
    return Offer(
        to="one call an epoch",
        title="Choose the samples of an epoch with one call",
        why="The sampler chooses the samples of each batch in the training process, which waits for it.",
        risk="The random numbers differ, and with them the order of samples for the same seed.",
        diff=DIFF,
        evidence=[
            evidence.mean_us("Sampler time of one batch", case.rank.steps.sampler_us, "sampler_us"),
            Evidence(what="Length of the data set", value=case.loader.dataset_length, unit="count"),
        ],
        from_=case.loader.sampler_type,
        in_call=False,
        changes_batch_order=True,
    )


CHANGE = Change(
    label="faster sampler",
    consider=consider,
    sign=halved("sampler_us"),
)
