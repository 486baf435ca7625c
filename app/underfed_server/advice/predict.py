"""Speed-up of a run under another loader setting, with an interval: the simulator, asked several ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from underfed_server.advice.replay import Replay, best_cores, read_replay, worst_cores
from underfed_server.advice.simulate import LoaderSetting, Outcome, simulate
from underfed_server.facts.record import HostShare, LoaderFacts, RankFacts

Item = TypeVar("Item")

STRUCTURE_ERROR = 0.05
"""The study's simulator against its own runs and from N to M workers: median 5 %."""

STRUCTURE_ERROR_NO_WORKERS = 0.09
"""From a run without workers, hand-over never seen: median 7–11 %."""

HANDOVER_SPAN = (0.3, 2.0)
"""Hand-over times differ by this much between machines and loads of the training process (own study)."""

BLOCKS = 8
"""Blocks of consecutive steps left out in turn, to see how much the figure hangs on a part of the run."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Of one setting against the recorded one."""

    setting: LoaderSetting
    speedup: float
    low: float
    high: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Predictor:
    """Answers for one rank of one run. The recorded setting is simulated too: errors of the model cancel."""

    replay: Replay
    rank: RankFacts
    host: HostShare
    recorded: Outcome
    ceiling: float
    """Speed-up with no data wait at all."""
    structure_error: float

    def quick(self, setting: LoaderSetting) -> float:
        """The speed-up alone, for searching."""
        return self.recorded.step_us / simulate_replay(self.replay, setting).step_us

    def predict(self, setting: LoaderSetting) -> Prediction:
        """The speed-up with its interval, about a hundred milliseconds of work."""
        outcome = simulate_replay(self.replay, setting)
        speedup = self.recorded.step_us / outcome.step_us
        others = [self._under(reading, setting) for reading in self._readings()]
        low = min([speedup, *others]) * (1 - self.structure_error)
        high = max([speedup, *others]) * (1 + self.structure_error)
        return Prediction(setting, speedup, low, max(speedup, min(high, self.ceiling)), outcome)

    def _readings(self) -> list[Replay]:
        readings = [_without_block(self.replay, block) for block in range(BLOCKS)]
        if not self.replay.slowdown_measured:
            process = self.rank.process
            readings.append(self.replay.with_cores(best_cores(process, self.host)))
            readings.append(self.replay.with_cores(worst_cores(process, self.host)))
        if not self.replay.saw_workers:
            readings += [self.replay.with_handover(scale) for scale in HANDOVER_SPAN]
        return readings

    def _under(self, reading: Replay, setting: LoaderSetting) -> float:
        return simulate_replay(reading, reading.setting).step_us / simulate_replay(reading, setting).step_us


def make_predictor(rank: RankFacts, loader: LoaderFacts, host: HostShare) -> Predictor:
    """Raises:
    PredictionError: see :func:`read_replay`.
    """
    replay = read_replay(rank, loader, host)
    recorded = simulate_replay(replay, replay.setting)
    measured_step = float(np.nanmean(rank.steps.step_us))
    measured_wait = float(np.nanmean(rank.steps.data_wait_us))
    base = STRUCTURE_ERROR if replay.saw_workers else STRUCTURE_ERROR_NO_WORKERS
    return Predictor(
        replay=replay,
        rank=rank,
        host=host,
        recorded=recorded,
        ceiling=measured_step / max(measured_step - measured_wait, 1.0),
        structure_error=max(base, abs(recorded.step_us / measured_step - 1)),
    )


def simulate_replay(replay: Replay, setting: LoaderSetting) -> Outcome:
    return simulate(replay.batches, replay.works, setting, replay.cores)


def _without_block(whole: Replay, block: int) -> Replay:
    return replace(whole, batches=_leave_out(whole.batches, block), works=_leave_out(whole.works, block))


def _leave_out(items: tuple[Item, ...], block: int) -> tuple[Item, ...]:
    size = len(items) // BLOCKS
    return items if size == 0 else items[: block * size] + items[(block + 1) * size :]
