"""What the beginning and the end of an epoch cost beside its steps: starting workers, the first load, stopping them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from underfed_server.advice.prediction.simulate import HandoverTimes, SimulatedSetting
from underfed_server.diagnosis.measures import mean
from underfed_server.facts.record import RankFacts, epoch_starts, whole_epochs

START_US = 38_000.0
START_WORKER_US = 15_000.0
"""Starting and stopping forked workers: once, and for each (own study, a process with torch imported)."""

RESUME_US = 4_000.0
RESUME_WORKER_US = 1_500.0
"""Sending kept workers the start of another epoch, and waiting for their answers: once, and for each (own study)."""

FEWEST_EPOCHS = 3
"""Epochs that begin within the judged steps from which more are expected."""


@dataclass(frozen=True, slots=True)
class Epochs:
    """``steps``: of the mean epoch; ``None``: too few epochs begin in the judged steps."""

    steps: float | None
    start_us: float
    """What an epoch's first step takes beyond a usual one, at the recorded setting."""
    first_load_us: float
    """The part of it that is the first load, for which every epoch waits."""
    recorded: SimulatedSetting

    def a_step_us(self, setting: SimulatedSetting) -> float:
        """What ``setting`` adds to the mean step."""
        return 0.0 if self.steps is None else self._start_us(setting) / self.steps

    def _start_us(self, setting: SimulatedSetting) -> float:
        if setting.num_workers == 0:
            return 0.0
        if setting.persistent_workers:
            resumed = RESUME_US + RESUME_WORKER_US * setting.num_workers
            known = self.start_us if self.recorded.persistent_workers else np.inf
            return float(min(self.first_load_us + resumed, known))
        return self.first_load_us + _started_us(setting.num_workers) * self._pace()

    def _pace(self) -> float:
        """Starting workers in this run against our study: a large process is forked slowly, spawning takes seconds."""
        if self.recorded.num_workers == 0 or self.recorded.persistent_workers:
            return 1.0
        return max(0.0, self.start_us - self.first_load_us) / _started_us(self.recorded.num_workers)


def read_epochs(rank: RankFacts, recorded: SimulatedSetting, handover: HandoverTimes) -> Epochs:
    steps = rank.steps
    first = epoch_starts(steps)
    if np.count_nonzero(first) < FEWEST_EPOCHS:
        return Epochs(None, 0.0, 0.0, recorded)
    lengths = whole_epochs(rank.epochs)
    mean_length = float(np.mean(lengths or np.diff(steps.step_index[first])))
    # The median: a machine with other work starts a process late now and then.
    started_us = float(np.median(steps.data_wait_us[first])) - float(np.mean(steps.data_wait_us[~first]))
    load_us = (mean(rank.batches.load_us) or 0.0) + handover.receive_us + handover.receive_wait_us
    return Epochs(mean_length, max(0.0, started_us), min(load_us, max(0.0, started_us)), recorded)


def _started_us(workers: int) -> float:
    return START_US + START_WORKER_US * workers
