"""Speed-up of a run under another loader setting, with an interval: the simulator, asked several ways."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeVar

from underfed_server.advice.prediction.altered import changed
from underfed_server.advice.prediction.margin import OF_CPU, Margin, read_margin
from underfed_server.advice.prediction.processor import WORST_FULL
from underfed_server.advice.prediction.ranks import ALONE, Ranks
from underfed_server.advice.prediction.simulate import UNLIMITED, Handover, Outcome, SimulatedSetting, simulate
from underfed_server.advice.prediction.startup import Epochs, read_epochs
from underfed_server.advice.prediction.workload import Workload, read_workload, usable_cores
from underfed_server.diagnosis.instant_data import instant_step_us, shares_cores
from underfed_server.diagnosis.storage_rate import UNKNOWN, Elsewhere, most_readers_seen, usual_readers
from underfed_server.facts.record import HostShare, RankFacts
from underfed_server.model import LoaderInfo, StoragePlace

Item = TypeVar("Item")

BLOCKS = 8
"""Blocks of consecutive steps left out in turn, to see how much the figure depends on a part of the run."""


HANDOVER_SPAN = (0.5, 1.8)
"""Hand-over times differ by this much between machines and loads of the training process (own study)."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One setting compared with the recorded one."""

    setting: SimulatedSetting
    speedup: float
    low: float
    high: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Predictor:
    """Answers for one rank of one run. The recorded setting is simulated too: errors of the model cancel."""

    workload: Workload
    rank: RankFacts
    host: HostShare
    epochs: Epochs
    recorded: Outcome
    ceiling: float
    """Speed-up if every batch were there at once, an estimate: no prediction is above it."""
    highest: float
    """Nor is an end of an interval above this: where loading takes cores from the step, the step without it may be
    faster than estimated."""
    margin: Margin
    most_readers: float | None
    """Loads at once, beyond which it was not seen what storage gives; ``None``: it is known, or matters little."""

    def adds_readers(self, setting: SimulatedSetting) -> bool:
        """More load at once than was seen."""
        most = max(1, self.workload.setting.num_workers)
        return self.most_readers is not None and setting.num_workers > max(most, self.most_readers)

    def quick(self, setting: SimulatedSetting) -> float:
        """The speed-up alone, for searching.

        Raises:
            PredictionError: see :meth:`predict`.
        """
        return min(self.ceiling, self.recorded.step_us / self._outcome(self.workload, setting).step_us)

    def predict(self, setting: SimulatedSetting) -> Prediction:
        """The speed-up with its interval, about two hundred milliseconds of work.

        Raises:
            PredictionError: what the change does to loading was not measured in this run; the message is the reason.
        """
        outcome = self._outcome(self.workload, setting)
        speedup = self.recorded.step_us / outcome.step_us
        others = [self._under(reading, setting) for reading in self._readings(setting)]
        margin = self.margin.of(self.workload, setting, outcome)
        low = min([speedup, *others]) * math.exp(-margin)
        high = max([speedup, *others]) * math.exp(margin)
        speedup, low = min(self.ceiling, speedup), min(self.ceiling, low)
        return Prediction(setting, speedup, low, min(self.highest, high), outcome)

    def _readings(self, setting: SimulatedSetting) -> list[Workload]:
        """Other ways to read the same run: without a part of it, and where a term that decides was not seen in it."""
        known = self.workload
        found = [_without_block(known, block) for block in range(BLOCKS)]
        if not known.slowdown_measured:
            process, spans = self.rank.process, (1.0, WORST_FULL)
            shared = (known.ranks.share(usable_cores(process, self.host, full)) for full in spans)
            found += [replace(known, cores=cores) for cores in shared]
        if self.most_readers is not None and self.adds_readers(setting):
            # All of them together get no more than those that were seen.
            found.append(replace(known, readers=self.most_readers))
        if setting.num_workers and not known.saw_workers:
            found += [replace(known, handover=_scaled(known.handover, scale)) for scale in HANDOVER_SPAN]
        return found

    def _under(self, reading: Workload, setting: SimulatedSetting) -> float:
        return self._outcome(reading, reading.setting).step_us / self._outcome(reading, setting).step_us

    def _outcome(self, workload: Workload, setting: SimulatedSetting) -> Outcome:
        return _outcome(workload, self.rank, self.epochs, setting)


def _outcome(workload: Workload, rank: RankFacts, epochs: Epochs, setting: SimulatedSetting) -> Outcome:
    """Of the mean step, starts of epochs included."""
    steady, start_us = simulate(changed(workload, rank, setting).inputs(setting), setting), epochs.a_step_us(setting)
    return Outcome(steady.step_us + start_us, steady.data_wait_us + start_us)


def make_predictor(
    rank: RankFacts,
    loader: LoaderInfo,
    host: HostShare,
    ranks: Ranks = ALONE,
    place: StoragePlace | None = None,
    elsewhere: Elsewhere = UNKNOWN,
) -> Predictor:
    """``place``: where the data set's files lie. ``elsewhere``: what other runs show of it.

    Raises:
        PredictionError: see :func:`read_workload`.
    """
    workload, most_readers = read_workload(rank, loader, host, ranks), most_readers_seen(rank, place)
    if workload.readers == UNLIMITED and elsewhere.limit_readers is not None:
        workload = replace(workload, readers=max(elsewhere.limit_readers, usual_readers(rank)))
        most_readers = None
    elif most_readers is not None:
        most_readers = max(most_readers, elsewhere.most_readers or 0.0)
    epochs = read_epochs(rank, workload.setting, workload.handover)
    recorded = _outcome(workload, rank, epochs, workload.setting)
    ceiling = rank.step_us / max(instant_step_us(rank, host, ranks.together), 1.0)
    return Predictor(
        workload=workload,
        rank=rank,
        host=host,
        epochs=epochs,
        recorded=recorded,
        ceiling=ceiling,
        highest=ceiling * (math.exp(OF_CPU) if shares_cores(rank, host) else 1.0),
        margin=read_margin(rank, loader, recorded),
        most_readers=most_readers,
    )


def _without_block(whole: Workload, block: int) -> Workload:
    return replace(
        whole,
        batches=_leave_out(whole.batches, block),
        alone=_leave_out(whole.alone, block),
        works=_leave_out(whole.works, block),
        works_alone=_leave_out(whole.works_alone, block),
    )


def _scaled(handover: Handover, scale: float) -> Handover:
    names = ("feed_us", "receive_us", "receive_wait_us", "busy_wait_us")
    return replace(handover, **{name: getattr(handover, name) * scale for name in names})


def _leave_out(items: tuple[Item, ...], block: int) -> tuple[Item, ...]:
    size = len(items) // BLOCKS
    return items if size == 0 else items[: block * size] + items[(block + 1) * size :]
