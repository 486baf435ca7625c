"""The settings that a run which tunes itself is to try: few, in the order in which to try them, each with its reason.

The simulator says where to look, and the trials what is so: a setting that may gain by its interval is worth a trial,
whatever its middle says. Workers that persist are none of them: they gain between epochs, where no trial measures, and
change which random numbers augment a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from underfed_server.advice.capacity import fits
from underfed_server.advice.case import Case
from underfed_server.advice.prediction.predict import Predictor
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.advice.prediction.workload import PredictionError
from underfed_server.advice.search import find_setting, longer_factors, numbers, why_no_workers, with_workers
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, Candidate, Candidates, Setting

MOST = 5
"""Trials cost steps of the training: with five a search ends within its budget of 2 %."""

NOT_WAITING = "the run hardly waits for this loader"
TOO_LITTLE = "no setting of the loader is predicted to gain 5% or more, even at the upper end of its interval"
ALL_SET = "what could be tried was set from outside"
NO_ROOM = (
    "no other number of workers is within the cores, memory, /dev/shm and open files that this run may use, with a "
    "queue that is full before a pass ends"
)

NOT_SIMULATED = ("threads_per_worker", "pin_memory")
"""Advised settings whose gain only a trial shows."""

SIMULATED = ("num_workers", "prefetch_factor")

Tried = tuple[SimulatedSetting, str]
"""A setting, and why it is worth a trial."""


def find_candidates(case: Case, advice: Sequence[Advice]) -> Candidates:
    """``advice``: what is advised for the same run."""
    own = list(_of_workers(case)) if case.waits_for_data else []
    beside = list(_beside(case, advice, own))
    found = [*own[: MOST - len(beside)], *beside]
    why_none = None if found else _why_none(case)
    return Candidates(
        loader=case.loader.loader, settings=dict(case.facts.settings), candidates=found, why_none=why_none
    )


def no_candidates(facts: RunFacts) -> Candidates:
    """Of a run that gets no advice."""
    loader = facts.loader.loader if facts.loader else ""
    return Candidates(loader=loader, settings=dict(facts.settings), candidates=[], why_none=NOT_WAITING)


def _of_workers(case: Case) -> Iterator[Candidate]:
    """Numbers of workers and lengths of their queues, those that may gain, best first."""
    try:
        predictor = case.predicting()
        predicted = [(predictor.predict(setting), why) for setting, why in _simulated(case, predictor)]
    except PredictionError:
        for setting, why in _unpredicted(case):
            yield Candidate(settings=_changed(case, setting), predicted_speedup=None, low=None, high=None, why=why)
        return
    for one, why in sorted(predicted, key=lambda each: -each[0].speedup):
        if one.high >= THRESHOLDS.worthwhile_speedup:
            yield Candidate(
                settings=_changed(case, one.setting),
                predicted_speedup=one.speedup,
                low=one.low,
                high=one.high,
                why=why,
            )


def _simulated(case: Case, predictor: Predictor) -> Iterator[Tried]:
    """The simulator's best and what lies beside it, each once, within what the run may take."""
    best = find_setting(case, predictor)
    seen = {_with_set(case, case.recorded)}
    for wanted, why in _around(case, best, predictor) if best else ():
        setting = _with_set(case, wanted)
        if setting not in seen and fits(case, setting):
            seen.add(setting)
            yield setting, why


def _around(case: Case, best: SimulatedSetting, predictor: Predictor) -> Iterator[Tried]:
    allowed = sorted({*numbers(case), case.num_workers})
    yield best, "the fastest by simulation of this run"
    for number in [number for number in allowed if number > best.num_workers][:1]:
        yield replace(with_workers(case, number), prefetch_factor=best.prefetch_factor), "beside the fastest"
    for number in [number for number in allowed if 0 < number < best.num_workers][-1:]:
        fewer = replace(with_workers(case, number), prefetch_factor=best.prefetch_factor)
        yield fewer, "fewer workers leave each more of the cores and of the memory's rate"
    if best.num_workers:
        for factor in [factor for factor in longer_factors(case) if factor > best.prefetch_factor][:1]:
            yield replace(best, prefetch_factor=factor), "with a longer queue slow batches are started earlier"
    if 0 in allowed and predictor.quick(with_workers(case, 0)) >= 1.0:
        yield with_workers(case, 0), "without workers nothing is handed over between processes"


def _unpredicted(case: Case) -> Iterator[Tried]:
    """As many workers as there is room for, half of them, and fewest."""
    wanted = [_with_set(case, with_workers(case, number)) for number in numbers(case) if number]
    options = [setting for setting in dict.fromkeys(wanted) if setting != case.recorded and fits(case, setting)]
    for place in dict.fromkeys((len(options) - 1, (len(options) - 1) // 2, 0)) if options else ():
        yield options[place], "its gain cannot be computed from this run"


def _with_set(case: Case, setting: SimulatedSetting) -> SimulatedSetting:
    """What was set from outside stays."""
    number, factor = (case.facts.overrides.get(name) for name in SIMULATED)
    return replace(
        setting,
        num_workers=number if isinstance(number, int) else setting.num_workers,
        prefetch_factor=factor if isinstance(factor, int) else setting.prefetch_factor,
    )


def _changed(case: Case, setting: SimulatedSetting) -> dict[str, Setting]:
    wanted: dict[str, Setting] = {"num_workers": setting.num_workers}
    if setting.num_workers:
        wanted["prefetch_factor"] = setting.prefetch_factor
    return {name: value for name, value in wanted.items() if name not in case.facts.overrides}


def _beside(case: Case, advice: Sequence[Advice], own: Sequence[Candidate]) -> Iterator[Candidate]:
    """Settings whose gain is not simulated, with the number of workers that is first to be tried."""
    first = own[0].settings if own else {}
    for one in advice:
        if one.change in NOT_SIMULATED and one.change not in case.facts.overrides:
            settings = {**first, one.change: one.to}
            yield Candidate(settings=settings, predicted_speedup=None, low=None, high=None, why=one.why)


def _why_none(case: Case) -> str:
    if not case.waits_for_data:
        return NOT_WAITING
    if case.facts.overrides.keys() & set(SIMULATED):
        return ALL_SET
    if (why := why_no_workers(case)) is not None:
        return why
    return TOO_LITTLE if case.predictor is not None and numbers(case) else NO_ROOM
