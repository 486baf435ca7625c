"""How far a simulated speed-up may be off beyond what the run shows: from the table of ``benchmarks/prediction``."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from underfed_server.advice.prediction.simulate import Outcome, SimulatedSetting
from underfed_server.advice.prediction.workload import Workload
from underfed_server.facts.record import RankFacts
from underfed_server.model import LoaderInfo

# As logarithms of a factor, each so that nine of ten of the table's cases lie inside.
ALWAYS = 0.03
OF_CPU = 0.20
"""Where the loop waits for loading that computes: the same CPU work takes longer or shorter from one run to the next,
by what else shares the cores, their caches and their clock. Multiplied by the CPU share of loading."""
EXPOSED = 2.0
"""``OF_CPU`` grows with the share of a step that is waited for, and counts in full from half a step on."""
CONTENDED = 0.06
"""Where the setting asks for nearly all usable cores: the scheduler does not share them as evenly as a model does."""
UNSEEN = 0.08
"""From a run without workers to one with, or back: handing over was not seen, and a process that loads without a pause
keeps its core and its caches, where one that also trains does not."""
SHARED_MB = 0.006
"""For each megabyte of a batch that workers write to shared memory: machines differ in what new pages cost."""

NEARLY_ALL = 0.75
"""Share of the usable cores in use on average from which at times more tasks than cores are ready."""


@dataclass(frozen=True, slots=True)
class Margin:
    """``own_error``: of simulating the recorded setting, as a logarithm; ``batch_mb``: size of one batch in memory."""

    own_error: float
    batch_mb: float
    recorded: Outcome

    def of(self, workload: Workload, setting: SimulatedSetting, outcome: Outcome) -> float:
        """Half the width of the interval, as the logarithm of a factor."""
        change = abs(math.log(self.recorded.step_us / outcome.step_us))
        waits = max(each.data_wait_us / each.step_us for each in (self.recorded, outcome))
        margin = ALWAYS + OF_CPU * cpu_share(workload) * min(1.0, EXPOSED * waits) + min(self.own_error, change) / 2
        if setting.num_workers and cpu_demand(workload, outcome.step_us) > NEARLY_ALL * workload.cores.usable:
            margin += CONTENDED
        if setting.num_workers or workload.saw_workers:
            margin += SHARED_MB * self.batch_mb
        if bool(setting.num_workers) != workload.saw_workers:
            margin += UNSEEN
        return margin


def read_margin(rank: RankFacts, loader: LoaderInfo, recorded: Outcome) -> Margin:
    measured = float(np.mean(rank.steps.step_us))
    return Margin(abs(math.log(recorded.step_us / measured)), (loader.batch_bytes or 0) / 1e6, recorded)


def cpu_share(workload: Workload) -> float:
    """Of loading; the rest is blocked."""
    cpu = sum(batch.cpu_us + batch.helpers_us for batch in workload.batches)
    blocked = sum(batch.blocked_us for batch in workload.batches)
    return cpu / max(cpu + blocked, 1.0)


def cpu_demand(workload: Workload, step_us: float) -> float:
    """Cores that loading and training would use together at this pace, others' included."""
    load = float(np.mean([batch.cpu_us + batch.helpers_us for batch in workload.batches]))
    work = float(np.mean([work.cpu_us for work in workload.works]))
    handover = workload.handover.feed_us + workload.handover.receive_us
    return (load + work + handover) / max(step_us, 1.0) + workload.cores.others
