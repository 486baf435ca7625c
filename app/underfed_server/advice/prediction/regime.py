"""What decides how fast a predicted run goes: runs of one regime are mispredicted alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from underfed_server.advice.prediction.simulate import Outcome, SimulatedSetting
from underfed_server.advice.prediction.startup import Epochs
from underfed_server.advice.prediction.workload import Workload
from underfed_server.diagnosis.measures import load_tail
from underfed_server.facts.record import RankFacts
from underfed_server.model import LoaderInfo

Regime = Literal[
    "epoch starts", "large batches", "uneven loads", "blocked", "to none", "from none", "full cores", "free cores"
]
"""In this order: the first that holds."""

STARTS_FRACTION = 0.10
"""Of a step, with the recorded setting or the other one, from which starting workers decides."""

LARGE_MB = 10.0
"""Of a batch: machines differ in what new pages of shared memory cost, and repeats on one of them, too."""

TAIL_SHARE = 0.20
"""Of all load time, in the slowest twentieth of the batches: four times as long as the others."""

COMPUTED_SHARE = 0.25
"""Of loading; where less is computed it mostly sleeps, and how long is known well."""

NEARLY_ALL = 0.75
"""Share of the usable cores in use on average from which at times more tasks than cores are ready."""

EXPOSED = 2.0
LEAST_EXPOSED = 0.1
"""A step that hardly waits is hardly mispredicted: errors count in full from half a step of waiting on."""


@dataclass(frozen=True, slots=True)
class PredictionClass:
    """Where a prediction belongs among others."""

    regime: Regime
    exposure: float
    """How far an error shows in the step: 1 where it waits, or computes on full cores, for half of its time."""


def prediction_class(
    rank: RankFacts,
    loader: LoaderInfo,
    workload: Workload,
    epochs: Epochs,
    recorded: Outcome,
    setting: SimulatedSetting,
    outcome: Outcome,
) -> PredictionClass:
    both = ((workload.setting, recorded), (setting, outcome))
    tail = load_tail(rank)
    mostly = max(cpu_demand(workload, gone.step_us) for _, gone in both)
    holds: dict[Regime, bool] = {
        "epoch starts": any(epochs.a_step_us(one) >= STARTS_FRACTION * gone.step_us for one, gone in both),
        "large batches": any(one.num_workers for one, _ in both) and (loader.batch_bytes or 0) >= LARGE_MB * 1e6,
        "uneven loads": tail is not None and tail.slowest_share >= TAIL_SHARE,
        "blocked": computed_share(workload) < COMPUTED_SHARE,
        "to none": not setting.num_workers,
        "from none": not workload.saw_workers,
        "full cores": mostly > NEARLY_ALL * workload.cores.usable,
    }
    regime: Regime = next((regime for regime, does in holds.items() if does), "free cores")
    # On full cores what the step itself computes takes longer, too.
    computed = _work_us(workload) if holds["full cores"] else 0.0
    return PredictionClass(
        regime, exposure(max((each.data_wait_us + computed) / each.step_us for each in (recorded, outcome)))
    )


def exposure(waits: float) -> float:
    """``waits``: the share of a step that may be mispredicted."""
    return min(1.0, max(LEAST_EXPOSED, EXPOSED * waits))


def computed_share(workload: Workload) -> float:
    """Of loading; the rest is blocked."""
    cpu = sum(batch.cpu_us + batch.helpers_us for batch in workload.batches)
    blocked = sum(batch.blocked_us for batch in workload.batches)
    return cpu / max(cpu + blocked, 1.0)


def cpu_demand(workload: Workload, step_us: float) -> float:
    """Cores that loading and training would use together at this pace, others' included."""
    load = float(np.mean([batch.cpu_us + batch.helpers_us for batch in workload.batches]))
    work = _work_us(workload)
    handover = workload.handover.feed_us + workload.handover.receive_us
    ranks = workload.ranks.simulated
    return ranks * (load + work + handover) / max(step_us, 1.0) + workload.cores.others


def _work_us(workload: Workload) -> float:
    """CPU time of a step beside its data wait."""
    return float(np.mean([work.cpu_us for work in workload.works]))
