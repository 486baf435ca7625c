"""Why a run that tried settings kept none of them: a sentence for each that matters, with what would tell more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from underfed.trainer.settings.tunable import format_settings
from underfed.trainer.tuning.blocks import Ratio
from underfed.trainer.tuning.conductor import ASKING, NOTHING_FASTER, Conductor
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.search import UNPROVEN, USED_UP, WORTH, Search, Trial, picked, start_steps


def why_nothing_kept(conductor: Conductor) -> list[str]:
    """Of all searches, what holds for all of them first. Empty: nothing was looked at."""
    if conductor.went_back and conductor.reason is not None:
        return [conductor.reason]
    known = _known(conductor)
    measured = measured_so_far(conductor)
    others: dict[str, list[Trial]] = {}
    for _, trial in known:
        if not trial.blocks and trial.reason is not None:
            others.setdefault(trial.reason, []).append(trial)
    if not measured and len(others) == 1:
        return [_why(why, trials, conductor) for why, trials in others.items()]
    said = [*measured, *(_of_unmeasured(why, trials, conductor) for why, trials in others.items())]
    return [*_why_at_all(conductor, said), *said, *_of_steps(conductor)]


def measured_so_far(conductor: Conductor) -> list[str]:
    """Of a program that ended within its trials."""
    return [_of_measured(*each) for each in _known(conductor) if each[1].blocks]


def _why_at_all(conductor: Conductor, said: Sequence[str]) -> Iterator[str]:
    """Unless it is said of one of them already."""
    reason = conductor.reason if conductor.reason not in (None, ASKING) else None
    if reason is not None and not any(reason in each for each in said):
        yield reason
    elif said:
        yield NOTHING_FASTER


def _of_steps(conductor: Conductor) -> Iterator[str]:
    """What used the steps for trials, and how many would have been enough for what they did not suffice for."""
    for search in conductor.searches[-1:]:
        # Of those that were measured one gain that is shown is enough.
        measured = [steps for trial in search.trials[1:] if trial.blocks and (steps := _missing_in_all(search, trial))]
        unmeasured = [trial for trial in search.trials[1:] if not trial.blocks and trial.reason == USED_UP]
        missing = min(measured) if measured else search.missing_steps(unmeasured) if unmeasured else 0
        if missing:
            measured_steps = sum(trial.measured for trial in search.trials[1:])
            yield (
                f"of {search.most_steps:,} steps for trials {search.used_steps:,} were used: {measured_steps:,} were "
                f"measured, the others went into switches and into filling queues; about "
                f"--tune-steps {_rounded(search.most_steps + missing)} would have been enough"
            )


def _missing_in_all(search: Search, trial: Trial) -> int:
    """Steps, those of its start included, beside those that there were, until it would be known whether a
    measured one is faster. 0: not for want of steps."""
    ratio = search.against_start(trial)
    missing = _missing_steps(search, trial, ratio) if ratio is not None else 0
    if not missing:
        return 0
    return max(1, start_steps(search.trials[0].setting, trial.setting) + missing - search.left_steps)


def _known(conductor: Conductor) -> list[tuple[Search, Trial]]:
    """Of each setting that was begun the newest such trial, in the order of their first turns; then those that the last
    search would have tried: what kept an earlier one from it is no longer so."""
    found: dict[LoaderSetting, tuple[Search, Trial]] = {}
    for search in conductor.searches:
        found |= {trial.setting: (search, trial) for trial in search.trials[1:] if _has_begun(trial)}
    for search in conductor.searches[-1:]:
        found = {trial.setting: (search, trial) for trial in search.trials[1:]} | found
    ordered = sorted(found.values(), key=lambda each: conductor.searches.index(each[0]))
    return [each for each in ordered if each[1].setting != conductor.began_with]


def _has_begun(trial: Trial) -> bool:
    return bool(trial.blocks or trial.cut_blocks) or trial.open_block is not None


def _of_measured(search: Search, trial: Trial) -> str:
    """``num_workers=4: 1.02 × as fast (95 % 0.97–1.07), no gain that is larger than its noise``"""
    settings, ratio = _settings(search.trials[0].setting, trial), search.against_start(trial)
    if ratio is None:
        return f"{settings}: {trial.reason}"
    ends = f"95 % {ratio.low:.2f}–{ratio.high:.2f}"
    more = _missing_steps(search, trial, ratio)
    why = [
        each for each in (trial.reason, f"about {more:,} more steps of each would show it" if more else None) if each
    ]
    return f"{settings}: {ratio.speedup:.2f} × as fast ({ends}){', ' if why else ''}{': '.join(why)}"


def _missing_steps(search: Search, trial: Trial, ratio: Ratio) -> int:
    """Measured steps until the same gain is larger than its noise, which narrows with the square root of their number.
    0: not for want of steps."""
    if trial.reason not in (None, UNPROVEN) or ratio.speedup < WORTH:
        return 0
    noise = picked(search.measured_candidates) * math.log(ratio.speedup / ratio.low)
    gain = math.log(ratio.speedup)
    return _rounded(trial.measured * ((noise / gain) ** 2 - 1))


def _rounded(steps: float) -> int:
    """Up, to two digits: it is an estimate."""
    if steps <= 0:
        return 0
    unit = int(10 ** max(0, math.floor(math.log10(steps)) - 1))
    return math.ceil(steps / unit) * unit


def _of_unmeasured(why: str, trials: Sequence[Trial], conductor: Conductor) -> str:
    """``num_workers=8 was begun, num_workers=6 and num_workers=4 were not tried: …``"""
    said = []
    for what, some in (
        ("begun", [trial for trial in trials if _has_begun(trial)]),
        ("not tried", [trial for trial in trials if not _has_begun(trial)]),
    ):
        if some:
            settings = _listed([_settings(conductor.began_with, each) for each in some])
            said.append(f"{settings} {'was' if len(some) == 1 else 'were'} {what}")
    return f"{', '.join(said)}: {_why(why, trials, conductor)}"


def _listed(each: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(each[:-1]), each[-1]) if part)


def _why(why: str, trials: Sequence[Trial], conductor: Conductor) -> str:
    if why != USED_UP:
        return why
    more = conductor.searches[-1].missing_steps(trials)
    return f"{why}, at least {more:,} more would be needed (--tune-steps)"


def _settings(before: LoaderSetting, trial: Trial) -> str:
    """``num_workers=4 with prefetch_factor=8``: those that are others, as they are written with ``--set``."""
    changed = {name: value for name, (_, value) in before.difference(trial.setting).items() if value is not None}
    return format_settings(changed).replace(", ", " with ", 1)
