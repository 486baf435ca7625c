"""Choose the samples of an epoch with one call, not one by one."""

from __future__ import annotations

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.advice.proof.traits import halved
from underfed_server.advice.shares import gain_without
from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.wait import of_its_epoch
from underfed_server.facts.record import RankFacts, epoch_starts
from underfed_server.measurements import Column, or_zero
from underfed_server.model import Evidence

DIFF = """\
 class YourSampler(Sampler):
     def __iter__(self):
-        for _ in range(len(self)):
-            yield int(torch.multinomial(self.weights, 1))
+        yield from torch.multinomial(torch.as_tensor(self.weights), len(self), replacement=True).tolist()"""


def consider(case: Case) -> Offer:
    rank = case.rank
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
        changes_batch_order=True,
        gain=gain_without(rank.steps.step_us, sampler_us(rank), at_most=case.cost_fraction(case.change)),
        assumption="The sampler then costs next to nothing, and the workers keep up as they do now.",
        ceiling=case.ceiling(rank),
    )


def sampler_us(rank: RankFacts) -> Column:
    """Sampler time within each step's wait; in an epoch's first step also that at the epoch's beginning."""
    steps = rank.steps
    begun = np.where(epoch_starts(steps), of_its_epoch(rank, "sampler_us"), 0.0)
    is_known = any(epoch.sampler_us is not None for epoch in rank.epochs)
    own = or_zero(steps.sampler_us) if is_known else steps.sampler_us
    return np.minimum(begun + own, steps.data_wait_us)


CHANGE = Change(
    label="faster sampler",
    consider=consider,
    sign=halved("sampler_us"),
    is_of_its_causes=True,
)
