"""How far a simulated speed-up may be off beyond what the run shows: from the table of ``benchmarks/prediction``."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from underfed_server.advice.replay import Replay
from underfed_server.advice.simulate import LoaderSetting, Outcome
from underfed_server.facts.record import LoaderFacts, RankFacts

# In units of the logarithm of the speed-up, each fitted so that nine of ten of the table's cases lie inside:
ALWAYS = 0.02
OF_CHANGE = 0.05
"""Of the predicted change: what stays as it is needs no model."""
CONTENDED = 0.05
"""Where the setting asks for nearly all usable cores: the scheduler does not share them as evenly as a model does."""
UNSEEN = 0.05
"""From a run without workers to one with: handing over was not seen."""
SHARED_MB = 0.004
"""A megabyte of a batch, from a run without workers: pages of shared memory cost what the machine makes of them."""

NEARLY_ALL = 0.75
"""Of the usable cores, on average: then more tasks than cores are ready at a time every now and then."""


@dataclass(frozen=True, slots=True)
class Margin:
    """``own_error``: of the simulated recorded setting against the run; ``batch_mb``: what one batch is in memory."""

    own_error: float
    batch_mb: float

    def of(self, replay: Replay, setting: LoaderSetting, speedup: float, step_us: float) -> float:
        """Half the width of the interval, as the logarithm of a factor."""
        change = abs(math.log(max(speedup, 1e-6)))
        margin = ALWAYS + OF_CHANGE * change + min(self.own_error, change) / 2
        if setting.num_workers and cpu_demand(replay, step_us) > NEARLY_ALL * replay.cores.usable:
            margin += CONTENDED
        if setting.num_workers and not replay.saw_workers:
            margin += UNSEEN + SHARED_MB * self.batch_mb
        return margin


def read_margin(rank: RankFacts, loader: LoaderFacts, recorded: Outcome) -> Margin:
    measured = float(np.mean(rank.steps.step_us))
    return Margin(abs(math.log(recorded.step_us / measured)), (loader.batch_bytes or 0) / 1e6)


def cpu_demand(replay: Replay, step_us: float) -> float:
    """Cores that loading and training would use together at this pace, others' included."""
    load = float(np.mean([batch.cpu_us + batch.helpers_us for batch in replay.batches]))
    work = float(np.mean([work.cpu_us for work in replay.works]))
    handover = replay.handover.feed_us + replay.handover.receive_us
    return (load + work + handover) / max(step_us, 1.0) + replay.cores.others
