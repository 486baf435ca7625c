"""Proof by a run that tuned itself: each setting that it kept is an observed gain beside what was predicted for it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from underfed_server.advice.loader_settings import SETTINGS, normalised
from underfed_server.advice.proof.pace import Gain, is_inside
from underfed_server.model import LedgerEntry, Setting, Trial, Tuning
from underfed_server.names import CHANGES, CauseName, ChangeName


def entries_of(tuning: Tuning, trials: Sequence[Trial], run_id: str, cause: CauseName | None) -> list[LedgerEntry]:
    """An entry for each search that kept another setting than it began with, oldest first.

    ``cause``: the leading one before.
    """
    found = []
    for trial in trials:
        first = _first_of(trials, trial)
        change = _change(first, trial) if first else None
        if trial.kept and first and change:
            gain = _measured(tuning, trial, trials)
            predicted = (trial.predicted_speedup, trial.predicted_low, trial.predicted_high)
            entry = LedgerEntry(
                advice_of=run_id,
                loader=tuning.loader,
                run_id=run_id,
                change=change,
                cause=cause,
                settings=_differing(first, trial),
                predicted_speedup=trial.predicted_speedup,
                low=trial.predicted_low,
                high=trial.predicted_high,
                observed_speedup=gain.speedup if gain else None,
                observed_low=gain.low if gain else None,
                observed_high=gain.high if gain else None,
                inside_interval=is_inside(gain.speedup if gain else None, *predicted),
                why_not=None if gain else "it was kept before it was measured",
            )
            found.append(entry)
    return found


def observed(trial: Trial, trials: Sequence[Trial]) -> Gain | None:
    """Against the setting that its search began with, with 95 % confidence; ``None``: one of them was not measured."""
    first = _first_of(trials, trial)
    return None if first is None else gain_over(first, trial)


def gain_over(before: Trial, trial: Trial) -> Gain | None:
    """Of two in one search, with 95 % confidence; ``None``: one of them was not measured."""
    if not before.steps_per_s or not trial.steps_per_s:
        return None
    speedup, reach = trial.steps_per_s / before.steps_per_s, math.hypot(_reach(before), _reach(trial))
    return Gain(speedup, speedup * math.exp(-reach), speedup * math.exp(reach))


def _first_of(trials: Sequence[Trial], trial: Trial) -> Trial | None:
    """What its search began with; ``None``: the trial is that itself."""
    return next((each for each in trials if each.search == trial.search and not each.number and trial.number), None)


def _reach(trial: Trial) -> float:
    """Half of the interval, as a logarithm."""
    return math.log(trial.high / trial.low) / 2 if trial.low and trial.high else 0.0


def _change(first: Trial, trial: Trial) -> ChangeName | None:
    """The first setting that differs; ``None``: none that advice knows."""
    before, after = normalised(first.settings), normalised(trial.settings)
    return next((name for name in SETTINGS if name in CHANGES and before[name] != after[name]), None)


def _measured(tuning: Tuning, trial: Trial, trials: Sequence[Trial]) -> Gain | None:
    """Of the only search that kept another setting by what the agent found: it compares neighbouring blocks, which is
    more exact."""
    if (
        [each for each in trials if each.kept and each.number] == [trial]
        and tuning.speedup
        and tuning.low
        and tuning.high
    ):
        return Gain(tuning.speedup, tuning.low, tuning.high)
    return observed(trial, trials)


def _differing(first: Trial, trial: Trial) -> dict[str, Setting]:
    return {name: value for name, value in trial.settings.items() if first.settings.get(name) != value}
