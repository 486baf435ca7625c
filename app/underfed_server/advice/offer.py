"""One change offered as advice: what it says of itself, and its gain where that can be computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from underfed_server.advice.case import Case
from underfed_server.advice.constructor_call import Arguments
from underfed_server.advice.loader_settings import SETTINGS, CallDiff, diff_of
from underfed_server.advice.prediction.predict import Prediction
from underfed_server.advice.prediction.regime import exposure
from underfed_server.advice.prediction.residuals import interval
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.advice.prediction.workload import PredictionError
from underfed_server.advice.proof.pace import Gain
from underfed_server.advice.saved import Saved
from underfed_server.advice.shares import factor_without
from underfed_server.diagnosis.instant_data import Ceiling
from underfed_server.diagnosis.measures import anatomy_of
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Advice, Anatomy, Evidence, Refusal, Setting

WIDE_FACTOR = 2.0
"""Between the ends of an interval around 1, from which a figure in front of it would be taken for more than it is."""

NOTHING_FACTOR, LOSS = 3.0, 0.9
"""From which the ends of one that reaches down to such a loss say no more than that the gain is not known: they are not
shown."""

TRIED_STEPS = 200
"""The mean of so many is known to ±5 %, which distinguishes a gain worth having from none."""


NEARLY = 1e-9

UNKNOWN = Ceiling(math.inf)

SKETCH = "it shows the form of the change: what the program does there was not read"


@dataclass(frozen=True, slots=True)
class Offer:
    """What a change says of itself for one run. Figures belong in the evidence, not in the sentences."""

    to: Setting
    title: str
    why: str
    risk: str
    evidence: Sequence[Evidence]
    diff: str | None = None
    """Lines that do not depend on the program: what comes before the changed call, or the whole change."""
    sketch: str | None = SKETCH
    """What these lines are where they are not to be taken as they are."""
    call: Arguments | None = None
    """Arguments of the ``DataLoader`` call; ``None``, without a diff: ``to`` as the one that has the change's name."""
    at: str | None = None
    """File and line that ``diff`` is about, where it is not of that call."""
    from_: Setting = None
    """``None``: the loader's setting of that name."""
    settings: dict[str, Setting] | None = None
    """Loader settings of the change; ``None``: ``to``, where the change is itself such a setting."""
    changes_batch_order: bool = False
    simulated: SimulatedSetting | None = None
    """What is simulated for the gain."""
    gain: Prediction | Gain | str | None = None
    """Gain where nothing is simulated. A string: why it cannot be computed; ``None``: single steps do not show it."""
    assumption: str | None = None
    """What a gain that is not simulated rests on."""
    saved: Saved | None = None
    """What the change can save at most; ``None``: what all of the wait is."""
    ceiling: Ceiling | None = None
    """The speed-up that the change cannot exceed; ``None``: that with instant data."""
    ceiling_ends: tuple[float, float] | None = None
    """Between which that lies, in 95 of 100 cases; ``None``: not known."""
    ceiling_of: str | None = None
    """What would cost nothing then, where it is a part of loading."""


def advice_of(case: Case, offer: Offer) -> Advice | None:
    """The advice with its gain, or with the reason why there is none; ``None``: it gains too little for a change."""
    gain = _predicted(case, offer.simulated) if offer.simulated else offer.gain
    if case.rank.is_read_ahead and case.obstacle:
        # What is not simulated would count the reading thread's steps as the training's.
        gain = case.obstacle
    if isinstance(gain, Gain):
        gain = _as_sure_as_others(case, gain, offer.ceiling or UNKNOWN, case.could_be or UNKNOWN)
    if offer.saved is not None:
        gain = offer.saved.within(gain) if isinstance(gain, (Gain, Prediction)) else gain
        offer = replace(offer, evidence=[*offer.evidence, offer.saved.evidence])
    if isinstance(gain, Gain) or (offer.simulated and isinstance(gain, Prediction)):
        return _advice(case, offer, gain) if is_worthwhile(gain.speedup) else None
    return _advice(case, offer, gain)


def bounded(offer: Offer, saved: Saved) -> Offer:
    """It can save no more than this, so that neither its gain nor its ceiling is above that."""
    most, ceiling = factor_without(saved.most), offer.ceiling or UNKNOWN
    return replace(offer, saved=saved, ceiling=Ceiling(min(most, ceiling.speedup), min(most, ceiling.highest)))


def _predicted(case: Case, setting: SimulatedSetting) -> Prediction | str:
    try:
        return case.predicting().predict(setting)
    except PredictionError as error:
        return str(error)


def _as_sure_as_others(case: Case, gain: Gain, ceiling: Ceiling, could_be: Ceiling) -> Gain:
    """Its interval as wide as what was observed lay from predictions for runs like this one: that the rest of the step
    and the loading stay as they are is a prediction, too, however precisely the part was measured that goes away.
    """
    exposed = exposure(1 - 1 / gain.speedup)
    below, above = (exposed * end for end in interval(case.regime, case.facts.proven))
    low = gain.speedup * math.exp(-math.hypot(below, math.log(gain.speedup / gain.low)))
    high = gain.speedup * math.exp(math.hypot(above, math.log(gain.high / gain.speedup)))
    most, highest = min(ceiling.speedup, could_be.speedup), min(ceiling.highest, could_be.highest)
    return Gain(min(gain.speedup, most), min(low, most), min(high, highest))


def refuse(case: Case, title: str, why: str, evidence: Sequence[Evidence]) -> Refusal:
    return Refusal(change=case.change, title=title, why=why, evidence=list(evidence))


def is_worthwhile(speedup: float) -> bool:
    return speedup >= THRESHOLDS.worthwhile_speedup


def predicted_step_us(case: Case, prediction: Prediction) -> float:
    """The measured step, scaled: errors of the model that both settings share cancel."""
    return case.rank.step_us / prediction.speedup


def _advice(case: Case, offer: Offer, gain: Prediction | Gain | str | None) -> Advice:
    changed, is_own = offer.settings, case.change in SETTINGS and SETTINGS[case.change].is_settable
    if changed is None and is_own:
        changed = {case.change: offer.to}
    diff, figures, (speedup, highest) = _diff(case, offer), _figures(case, offer, gain), _ceiling(case, offer)
    ceiling, ends = above(speedup, figures["high"], highest), offer.ceiling_ends
    return Advice(
        change=case.change,
        loader=case.loader.loader,
        from_=offer.from_ if offer.from_ is not None else case.loader.settings.get(case.change),
        to=offer.to,
        **figures,
        ceiling=ceiling,
        ceiling_low=None if ceiling is None or ends is None else min(ends[0], ceiling),
        ceiling_high=None if ceiling is None or ends is None else max(ends[1], ceiling),
        ceiling_of=None if ceiling is None else offer.ceiling_of,
        settings=_complete(case, changed) if changed is not None else {},
        title=offer.title,
        why=offer.why,
        evidence=list(offer.evidence),
        changes_batch_order=offer.changes_batch_order,
        risk=offer.risk,
        diff=diff.lines,
        diff_file=diff.file,
        sketch=diff.sketch,
        command=None,
    )


def _diff(case: Case, offer: Offer) -> CallDiff:
    call = {case.change: repr(offer.to)} if offer.call is None and offer.diff is None else offer.call
    if call is None:
        return CallDiff(offer.diff or "", offer.at, offer.sketch)
    changed = diff_of(case.loader, call, case.not_in_code)
    if offer.diff is None:
        return changed
    return CallDiff(f"{offer.diff.rstrip()}\n \n{changed.lines}", changed.file, changed.sketch or offer.sketch)


def _ceiling(case: Case, offer: Offer) -> tuple[float | None, float | None]:
    """None is above what instant data would gain, or what the change can save; and what that may turn out to be."""
    known = [each for each in (case.could_be, offer.ceiling) if each is not None]
    saved = [factor_without(offer.saved.most)] if offer.saved else []
    speedup, highest = ([getattr(each, name) for each in known] for name in ("speedup", "highest"))
    return min([*speedup, *saved], default=None), min([*highest, *saved], default=None)


def above(ceiling: float | None, high: float | None, highest: float | None = None) -> float | None:
    """The ceiling as estimated; where that lies within the interval, the ``highest`` that it may turn out to be.
    ``None``: that one does, too."""
    known = [each for each in (ceiling, highest) if each is not None and math.isfinite(each)]
    return next((each for each in known if high is None or each >= high * (1 - NEARLY)), None)


def _figures(case: Case, offer: Offer, gain: Prediction | Gain | str | None) -> dict[str, Any]:
    """The gain with its interval and what that rests on. An interval that says next to nothing has no figure in it."""
    nothing = dict.fromkeys(("predicted_speedup", "low", "high", "anatomy"))
    if gain is None or isinstance(gain, str):
        reason = gain or "what it costs was not measured in single steps"
        return nothing | {"assumption": f"{reason.rstrip('.')}."}
    assumption = _assumption(case, gain) if isinstance(gain, Prediction) else offer.assumption
    if _says_nothing(case, gain):
        why = " ".join(text for text in (assumption, _try_it(case)) if text)
        why = f"{why[0].lower()}{why[1:]}"
        ends = {} if gain.low < LOSS and gain.high > NOTHING_FACTOR * gain.low else {"low": gain.low, "high": gain.high}
        return nothing | ends | {"assumption": why}
    return {
        "predicted_speedup": gain.speedup,
        "low": gain.low,
        "high": gain.high,
        "anatomy": _anatomy(case, gain) if isinstance(gain, Prediction) else None,
        "assumption": assumption,
    }


def _says_nothing(case: Case, gain: Prediction | Gain) -> bool:
    """It may be a loss, and its ends are far apart; or nearly all of it depends on what was not seen of the storage."""
    if isinstance(gain, Prediction) and case.predicting().adds_readers(gain.setting):
        return not is_worthwhile(gain.low)
    return gain.low <= 1 <= gain.high and gain.high > WIDE_FACTOR * gain.low


def _try_it(case: Case) -> str:
    seconds = TRIED_STEPS * case.rank.step_us / 1e6
    takes = f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
    return (
        f"From this run it may be a loss as well as a gain. Try it: a restart and {TRIED_STEPS} steps, {takes} at the "
        "present pace."
    )


def _complete(case: Case, changed: dict[str, Setting]) -> dict[str, Setting]:
    """All settings of this run with the change in it, those set from outside included."""
    number = case.loader.num_workers
    kept: dict[str, Setting] = {"num_workers": number} if number is not None else {}
    if number:
        kept["prefetch_factor"] = case.prefetch_factor
    settings = {**kept, **case.facts.overrides, **changed}
    # ``underfed run --set`` refuses what needs workers where there are none.
    has_workers = bool(settings.get("num_workers"))
    return {
        name: value
        for name, value in settings.items()
        if value is not None and (has_workers or not _needs_workers(name))
    }


def _needs_workers(name: str) -> bool:
    known = SETTINGS.get(name)
    return known is not None and known.needs_workers and known.is_settable


def _anatomy(case: Case, prediction: Prediction) -> Anatomy:
    """What is neither a wait nor a copy changes as it does in the simulation, by cores that loading shares with it."""
    now, step, recorded = anatomy_of(case.rank), round(predicted_step_us(case, prediction)), case.predicting().recorded
    works, worked = (each.step_us - each.data_wait_us for each in (prediction.outcome, recorded))
    return changed_step(now, step, now.compute_us * (works / worked if worked > 0 else 1.0))


def changed_step(now: Anatomy, step: int, compute_us: float) -> Anatomy:
    """A step of another length. Copies and waits for other loaders of the loop stay as they are, and what is left
    beside its work waits."""
    others = None if now.others_wait_us is None else min(step, now.others_wait_us)
    copy = None if now.h2d_exposed_us is None else min(step - (others or 0), now.h2d_exposed_us)
    left = step - (others or 0) - (copy or 0)
    wait = min(now.data_wait_us, max(0, round(left - compute_us)))
    return Anatomy(step_us=step, data_wait_us=wait, h2d_exposed_us=copy, compute_us=left - wait, others_wait_us=others)


def _assumption(case: Case, gain: Prediction) -> str | None:
    workload = case.predicting().workload
    if case.predicting().adds_readers(gain.setting):
        return "What the storage gives to more readers at once than this run had was not seen: it may be no more."
    if case.predicting().may_keep_its_cores(gain.setting):
        return "Whether more processes are given more of the cores that other jobs fill was not seen: it may be none."
    if not workload.slowdown_measured:
        return "How much busy cores slow each other down was not measured on this host, so the interval is wide."
    if not workload.handover_measured:
        return "Handing batches over from workers was not seen in this run: typical times are assumed."
    if not workload.saw_workers:
        return "Handing batches over from workers was not seen in this run: it is taken as measured on this host."
    return None
