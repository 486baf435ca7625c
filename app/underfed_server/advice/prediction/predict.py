"""Speed-up of a run under another loader setting, with an interval: the simulator, asked several ways."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from underfed_server.advice.prediction.altered import changed
from underfed_server.advice.prediction.company import CONFIDENCE
from underfed_server.advice.prediction.processor import WORST_FULL
from underfed_server.advice.prediction.ranks import ALONE, Ranks
from underfed_server.advice.prediction.regime import COMPUTED_SHARE, PredictionClass, prediction_class
from underfed_server.advice.prediction.residuals import interval
from underfed_server.advice.prediction.simulate import UNLIMITED, HandoverTimes, Outcome, SimulatedSetting, simulate
from underfed_server.advice.prediction.startup import Epochs, read_epochs
from underfed_server.advice.prediction.workload import Workload, is_crowded, read_workload, usable_cores
from underfed_server.diagnosis.examination import slowed_by_queue
from underfed_server.diagnosis.instant_data import Ceiling, others_share, read_ceiling
from underfed_server.diagnosis.measures import mean
from underfed_server.diagnosis.storage_rate import UNKNOWN, Elsewhere, most_readers_seen, usual_readers
from underfed_server.facts.record import HostShare, RankFacts
from underfed_server.model import LoaderInfo, StoragePlace

Item = TypeVar("Item")

BLOCKS = 4
"""Blocks of consecutive steps left out in turn, to see how much the figure depends on a part of the run."""

HANDOVER_SPAN = (0.5, 1.8)
"""Hand-over times differ by this much between machines and loads of the training process (own study)."""


CROWDED = 0.20
"""As a logarithm, how much longer the same work waits for cores that other jobs fill, from one run to the next (own
study: the same step without its wait took 110 and 134 ms beside the same two busy processes)."""


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
    loader: LoaderInfo
    host: HostShare
    epochs: Epochs
    recorded: Outcome
    ceiling: float
    """Speed-up if every batch were there at once, an estimate: no prediction is above it."""
    highest: float
    """Nor is an end of an interval above this."""
    own_error: float
    """Of simulating the recorded setting, as a logarithm."""
    most_readers: float | None
    """Loads at once, beyond which it was not seen what storage gives; ``None``: it is known, or matters little."""
    otherwise: Workload | None = None
    """Another way to read the run, which reproduces it less well: cores that others fill."""
    proven: Sequence[float] = ()
    """Residuals of what was predicted for earlier runs on this host."""
    blocks: dict[int, tuple[Workload, Outcome]] = field(default_factory=dict)
    """The run without a part of it, and how the recorded setting goes then: the same for every other setting."""
    known: dict[SimulatedSetting, Outcome] = field(default_factory=dict)
    """Settings that were simulated."""

    def adds_readers(self, setting: SimulatedSetting) -> bool:
        """More load at once than was seen."""
        most = max(1, self.workload.setting.num_workers)
        return self.most_readers is not None and setting.num_workers > max(most, self.most_readers)

    def quick(self, setting: SimulatedSetting) -> float:
        """The speed-up alone, for searching.

        Raises:
            PredictionError: see :meth:`predict`.
        """
        return min(self._ceiling(setting).speedup, self.recorded.step_us / self._of(setting).step_us)

    def predict(self, setting: SimulatedSetting) -> Prediction:
        """The speed-up with its interval, about a hundred milliseconds of work.

        Raises:
            PredictionError: what the change does to loading was not measured in this run; the message is the reason.
        """
        outcome = self._of(setting)
        speedup = self.recorded.step_us / outcome.step_us
        unseen = [self._under(reading, setting) for reading in self._readings(setting)]
        if self.may_keep_its_cores(setting):
            unseen.append(self._with_as_many_cores(setting, outcome))
        group = self.class_of(setting)
        # What differs from run to run, from part to part of this one, and between the run and its model.
        own = min(self.own_error, abs(math.log(speedup))) / 2
        crowd = CROWDED if self.otherwise and setting != self.workload.setting else 0.0
        strays = math.hypot(own, CONFIDENCE * self._error(setting), crowd)
        below, above = (group.exposure * end for end in interval(group.regime, self.proven))
        low = min([speedup, *unseen]) * math.exp(-math.hypot(below, strays))
        high = max([speedup, *unseen]) * math.exp(math.hypot(above, strays))
        ceiling = self._ceiling(setting)
        speedup, low = min(ceiling.speedup, speedup), min(ceiling.speedup, low)
        return Prediction(setting, speedup, low, min(ceiling.highest, high), outcome)

    def may_keep_its_cores(self, setting: SimulatedSetting) -> bool:
        """With another number of workers: loading computes on cores that other jobs fill. These may want more of them
        than they use, and a scheduler that divides cores among groups of processes gives more processes of one group
        nothing.
        """
        is_other = setting.num_workers not in (0, self.workload.setting.num_workers)
        batches = self.rank.batches
        computed, blocked = mean(batches.cpu_us) or 0.0, mean(batches.blocked_us) or 0.0
        helped = max(0.0, (mean(batches.process_cpu_us) or computed) - computed) * slowed_by_queue(batches)
        mostly = computed + min(blocked, helped) >= COMPUTED_SHARE * (computed + blocked)
        return self.otherwise is not None and is_other and mostly

    def _with_as_many_cores(self, setting: SimulatedSetting, outcome: Outcome) -> float:
        """The speed-up where all processes of the run together get as much of the cores as before: with more workers
        what one of them that is ready got."""
        batches, worked = self.rank.batches, self.workload
        if setting.num_workers < worked.setting.num_workers:
            return 1.0
        computed, queued = mean(batches.cpu_us) or 0.0, mean(batches.runqueue_us) or 0.0
        cpu_us = float(np.mean([each.cpu_us + each.helpers_us for each in worked.batches]))
        cpu_us += float(np.mean([each.cpu_us for each in worked.works])) + worked.handover.receive_us
        least_us = min(self.recorded.step_us, cpu_us * (computed + queued) / max(computed, 1.0))
        return self.recorded.step_us / max(outcome.step_us, least_us)

    def _ceiling(self, setting: SimulatedSetting) -> Ceiling:
        """The loop waits for its other loaders as before. Without workers each step loads its batch first: what that
        takes at least comes on top of instant data.
        """
        loads_first = not setting.num_workers and not setting.is_in_memory
        loads = self.workload.least_load_us / self.rank.step_us if loads_first else 0.0
        return Ceiling(self.ceiling, self.highest).leaving(others_share(self.rank) + loads)

    def class_of(self, setting: SimulatedSetting) -> PredictionClass:
        """Where the prediction for it belongs among others.

        Raises:
            PredictionError: see :meth:`predict`.
        """
        known = (self.rank, self.loader, self.workload, self.epochs, self.recorded)
        return prediction_class(*known, setting, self._of(setting))

    def _error(self, setting: SimulatedSetting) -> float:
        """Standard error of the speed-up's logarithm, from the run without each of its parts in turn."""
        found = []
        for block in range(BLOCKS):
            if block not in self.blocks:
                part = _without_block(self.workload, block)
                self.blocks[block] = part, self._outcome(part, part.setting)
            part, recorded = self.blocks[block]
            found.append(math.log(recorded.step_us / self._outcome(part, setting).step_us))
        return math.sqrt(BLOCKS - 1) * float(np.std(found))

    def _readings(self, setting: SimulatedSetting) -> list[Workload]:
        """Other ways to read the same run where a term that decides was not seen in it."""
        known, found = self.workload, [] if self.otherwise is None else [self.otherwise]
        if not known.slowdown_measured:
            process, spans = self.rank.process, (1.0, WORST_FULL)
            shared = (known.ranks.share(usable_cores(process, self.host, full)) for full in spans)
            found += [replace(known, cores=cores) for cores in shared]
        found += [replace(known, company=each) for each in known.company.ends()]
        if self.most_readers is not None and self.adds_readers(setting):
            # All of them together get no more than those that were seen.
            found.append(replace(known, readers=self.most_readers))
        if setting.num_workers and not known.saw_workers:
            found += [replace(known, handover=_scaled(known.handover, scale)) for scale in HANDOVER_SPAN]
        if not setting.num_workers and known.saw_workers and known.lightest != known.alone:
            found.append(replace(known, alone=known.lightest))
        return found

    def _under(self, reading: Workload, setting: SimulatedSetting) -> float:
        return self._outcome(reading, reading.setting).step_us / self._outcome(reading, setting).step_us

    def _of(self, setting: SimulatedSetting) -> Outcome:
        if setting not in self.known:
            self.known[setting] = self._outcome(self.workload, setting)
        return self.known[setting]

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
    proven: Sequence[float] = (),
) -> Predictor:
    """``place``: where the data set's files lie. ``elsewhere``: what other runs show of it. ``proven``: residuals of
    earlier predictions for this host.

    Raises:
        PredictionError: see :func:`read_workload`.
    """
    most_readers = most_readers_seen(rank, place)
    workload, otherwise = _readings(rank, loader, host, ranks)
    if workload.readers == UNLIMITED and elsewhere.limit_readers is not None:
        workload = replace(workload, readers=max(elsewhere.limit_readers, usual_readers(rank)))
        most_readers = None
    elif most_readers is not None:
        most_readers = max(most_readers, elsewhere.most_readers or 0.0)
    epochs = read_epochs(rank, workload.setting, workload.handover)
    recorded = _outcome(workload, rank, epochs, workload.setting)
    ceiling = read_ceiling(rank, host, ranks.together)
    return Predictor(
        workload=workload,
        rank=rank,
        loader=loader,
        host=host,
        epochs=epochs,
        recorded=recorded,
        ceiling=ceiling.speedup,
        highest=ceiling.highest,
        own_error=abs(math.log(recorded.step_us / rank.step_us)),
        most_readers=most_readers,
        otherwise=otherwise,
        proven=proven,
        known={workload.setting: recorded},
    )


def _readings(rank: RankFacts, loader: LoaderInfo, host: HostShare, ranks: Ranks) -> tuple[Workload, Workload | None]:
    """The one that reproduces the recorded step best, and the other one where there are two: on cores that other jobs
    fill."""
    shared = read_workload(rank, loader, host, ranks)
    if not is_crowded(rank, host, ranks):
        return shared, None
    queued = read_workload(rank, loader, host, ranks, as_queued=True)

    def strays(workload: Workload) -> float:
        epochs = read_epochs(rank, workload.setting, workload.handover)
        return abs(math.log(_outcome(workload, rank, epochs, workload.setting).step_us / rank.step_us))

    first, second = sorted((queued, shared), key=strays)
    return first, second


def _without_block(whole: Workload, block: int) -> Workload:
    return replace(
        whole,
        batches=_leave_out(whole.batches, block),
        alone=_leave_out(whole.alone, block),
        works=_leave_out(whole.works, block),
        works_alone=_leave_out(whole.works_alone, block),
    )


def _scaled(handover: HandoverTimes, scale: float) -> HandoverTimes:
    names = ("feed_us", "receive_us", "receive_wait_us", "busy_wait_us")
    return replace(handover, **{name: getattr(handover, name) * scale for name in names})


def _leave_out(items: tuple[Item, ...], block: int) -> tuple[Item, ...]:
    size = len(items) // BLOCKS
    return items if size == 0 else items[: block * size] + items[(block + 1) * size :]
