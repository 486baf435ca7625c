"""Measured values as text: three significant digits, a unit, and "–" for what was not measured.

The page writes them alike (``frontend/src/format.ts``); ``tests/contract/figures.json`` holds both to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from underfed_server.diagnosis import sentence
from underfed_server.diagnosis.headline_share import PAUSED_FRACTION
from underfed_server.diagnosis.rounded import percent, points
from underfed_server.model import BestAdvice, Diagnosis, Evidence

NOT_MEASURED = "–"


def amount(value: float | None) -> str:
    """Three significant digits at most, thousands set apart: ``1_089.3`` → ``1,089``, ``0.01234`` → ``0.0123``."""
    if value is None:
        return NOT_MEASURED
    return sentence.amount(value)


def duration(us: float | None) -> str:
    """``41_200`` → ``41.2 ms``."""
    return NOT_MEASURED if us is None else sentence.duration(us)


def hours(value: float | None) -> str:
    """Time lost or used: ``80.4 h``, ``31 min``, ``22 s``; as many digits as a share beside it is checked with."""
    if value is None:
        return NOT_MEASURED
    if value * 3_600 < 99.95:
        return f"{amount(value * 3_600)} s"
    if value < 1:
        return f"{amount(value * 60)} min"
    return f"{amount(value)} h" if value < 99.95 else f"{value:,.0f} h"


def fraction(value: float | None) -> str:
    """``0.43`` → ``43%``, below ten with one digit more: ``0.009`` → ``0.9%``."""
    if value is None:
        return NOT_MEASURED
    return "< 0.1%" if 0 < value < 0.0005 else percent(value)


def margin(value: float | None) -> str:
    """Of a share, in points: ``0.032`` → ``± 3``, below one ``± 0.4``; empty: not known."""
    if value is None:
        return ""
    return points(value)


def factor(value: float | None) -> str:
    """``1.624`` → ``× 1.62``, and two digits of a factor far below one: ``0.0029`` → ``× 0.0029``."""
    if value is None:
        return NOT_MEASURED
    return f"× {value:.2f}" if value >= 0.095 else f"× {float(f'{value:.2g}'):g}"


def factors(low: float | None, high: float | None) -> str:
    """An interval: ``× 1.48–1.71``; one figure where its ends are written alike."""
    if low is None or high is None:
        return NOT_MEASURED
    least, most = factor(low), factor(high)
    return least if least == most else f"{least}–{most.removeprefix('× ')}"


def gain(advice: BestAdvice) -> str:
    """Of the loop of its loader."""
    return _gain(advice, (advice.predicted_speedup, advice.low, advice.high))


def gain_of_run(advice: BestAdvice) -> str:
    return _gain(advice, advice.gain_of_run)


def _gain(advice: BestAdvice, figures: tuple[float | None, float | None, float | None]) -> str:
    """As its interval, else as predicted. What promises no gain is to be tried."""
    predicted, low, high = figures
    if not advice.is_promised:
        return "try it"
    return factor(predicted) if low is None or high is None else factors(low, high)


def speed(found: Diagnosis) -> str | None:
    """Of the loop, pauses included, and what it would be; the page says the same. ``None``: it was not measured.

    Without waits the rest of the step is left as it was. That it may then be shorter, as loading takes cores and memory
    from the training beside it, is an estimate, and stated with the ceiling of the fixes.
    """
    now = found.steps_per_s if found.samples_per_s is None else found.samples_per_s
    if not now or not found.steps_per_s:
        return None
    unit, each = "steps/s" if found.samples_per_s is None else "samples/s", now / found.steps_per_s
    on_ranks = " on each rank" if len(found.ranks) > 1 else ""
    loop = f" in the {_role(found)}loop over {found.loader} alone," if len(found.loaders) > 1 else ""
    paused = shown_pauses(found)
    between = f", {amount(now)} between pauses" if paused else ""
    ran = "now" if found.status == "running" else "as it ran"
    said = f"{amount(now * (1 - paused))} {unit}{on_ranks}{loop} {ran}{between}"
    could = _without_waits(found)
    if could is None or found.anatomy is None:
        return said
    waited = "any loader" if found.anatomy.others_wait_us else "data or copies" if found.bound == "transfer" else "data"
    would = ", where it would be " if paused else "; "
    return f"{said}{would}{amount(each * could)} if no step waited for {waited}"


def _role(found: Diagnosis) -> str:
    """What the judged loop is for; empty: that is not known."""
    roles = {line.loader: line.role for line in found.loaders}
    return {"train": "training ", "validation": "validation ", "other": ""}[roles.get(found.loader or "", "other")]


def shown_pauses(found: Diagnosis) -> float:
    """Share of the loop's time in pauses; 0 where that is too little to show, or known of one of several loops only."""
    paused = found.paused_fraction or 0.0
    return paused if paused >= PAUSED_FRACTION and len(found.loaders) < 2 else 0.0


def _without_waits(found: Diagnosis) -> float | None:
    """Steps per second, of the step without what it waited for."""
    step, instant = found.anatomy, found.instant_data_steps_per_s
    if step is None or instant is None:
        return None
    copies = (step.h2d_exposed_us or 0) if found.bound == "transfer" else 0
    rest_us = step.step_us - step.data_wait_us - (step.others_wait_us or 0) - copies
    return min(instant, 1e6 / rest_us) if rest_us > 0 else instant


def share_of_all(found: Diagnosis) -> str | None:
    """What was lost of all the time that it is shown beside. ``None``: the sentence has the same figure, or the waits
    for copies are part of the one and not of the other."""
    said = found.stated_stall_fraction
    if said is None or not found.hours_lost or not found.hours_used or found.copy_hours_lost:
        return None
    share = fraction(min(1.0, found.hours_lost / (found.hours_used * (1 - shown_pauses(found)))))
    return None if share == fraction(said) else share


def continued(title: str) -> str:
    """In the middle of a sentence; a word with capitals in it is a name: ``Raise num_workers`` → ``raise …``."""
    word = title.split(" ", maxsplit=1)[0]
    return f"{word.lower()}{title[len(word) :]}" if word.istitle() else title


def first_beside(found: Diagnosis) -> str | None:
    """What to do first where that is no change of what is in use, and its gain: to write down what tuning kept, or
    something outside the loader; ``None``: it is a fix. A diagnosis of an earlier version has sentences alone."""
    if found.to_write is not None:
        return f"{found.to_write.title}, {found.to_write.gain}"
    if not found.is_beside_first or found.beside_loader is None:
        return None
    title = found.beside[0].title if found.beside else found.beside_loader.removesuffix(".")
    return f"{title}, {gain_at_most(found.beside_speedup)}"


def gain_at_most(speedup: float | None) -> str:
    """Of the run."""
    return "gain not known" if speedup is None else f"{factor(speedup)} at most for the run"


def size(value: float | None) -> str:
    """As sentences have it: ``67_108_864`` → ``64 MiB``."""
    return NOT_MEASURED if value is None else sentence.size(value)


def span(values: Sequence[float | None], written: Callable[[float | None], str]) -> str:
    """``[1.2e9, 1.9e9]`` → ``1.12 GiB to 1.77 GiB``; one value where both are equal."""
    known = [value for value in values if value is not None]
    if not known:
        return NOT_MEASURED
    least, most = written(min(known)), written(max(known))
    return least if least == most else f"{least} to {most}"


WRITTEN: dict[str, Callable[[float], str]] = {
    "us": duration,
    "fraction": fraction,
    "bytes": size,
    "bytes_per_s": lambda value: f"{size(value)}/s",
    "factor": factor,
    "per_s": lambda value: f"{amount(value)} per s",
    "cores": lambda value: f"{amount(value)} core{'' if amount(value) == '1' else 's'}",
    "w": lambda value: f"{amount(value)} W",
}
"""By unit of the API; a figure of another one is a plain number."""


def evidence(one: Evidence) -> str:
    """The value of one piece of evidence with its unit."""
    value = one.value
    if value is None or isinstance(value, str):
        return value or NOT_MEASURED
    written = WRITTEN.get(one.unit, amount)(value)
    return written if one.margin_fraction is None else f"{written} {margin(one.margin_fraction)}"
