"""One change offered as advice: the prediction, or its absence, put into the contract's shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from underfed_server.advice.case import Case
from underfed_server.advice.prediction.predict import Prediction
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.advice.prediction.workload import PredictionError
from underfed_server.advice.settings import SETTINGS
from underfed_server.advice.shares import Gain
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Advice, Anatomy, Evidence, Refusal, Setting


@dataclass(frozen=True, slots=True)
class Offer:
    """What a change says of itself for one run. Figures belong into the evidence, not into the sentences."""

    to: Setting
    title: str
    why: str
    risk: str
    diff: str
    evidence: Sequence[Evidence]
    from_: Setting = None
    settings: dict[str, Setting] | None = None
    """Of the loader, beside those that the run had already; ``None``: the change is no setting of the loader."""
    in_call: bool = True
    """The diff is of the ``DataLoader`` call."""
    changes_batch_order: bool = False
    unknown: str | None = None
    """Why its gain cannot be computed, where that lies in the change itself."""


def offer_simulated(case: Case, setting: SimulatedSetting, offer: Offer) -> list[Advice]:
    """With its simulated gain, where that is worth a change; without a gain where it cannot be simulated."""
    if case.predictor is None:
        return [offer_unpredicted(case, offer)]
    try:
        prediction = case.predictor.predict(setting)
    except PredictionError as error:
        return [offer_unpredicted(case, offer, str(error))]
    return [offer_predicted(case, prediction, offer)] if is_worthwhile(prediction.speedup) else []


def offer_predicted(case: Case, prediction: Prediction, offer: Offer) -> Advice:
    figures = {
        "predicted_speedup": prediction.speedup,
        "low": prediction.low,
        "high": prediction.high,
        "anatomy": _anatomy(case, prediction),
        "assumption": _assumption(case),
    }
    return _advice(case, offer).model_copy(update=figures)


def offer_computed(case: Case, gain: Gain | None, offer: Offer, assumption: str, ceiling: float) -> list[Advice]:
    """With the gain of a measured part of the step that goes away; without, where it was not measured."""
    if gain is None:
        return [offer_unpredicted(case, offer, "what it costs was not measured in single steps")]
    figures = {
        "predicted_speedup": min(gain.speedup, ceiling),
        "low": min(gain.low, ceiling),
        "high": min(gain.high, ceiling),
        "ceiling": ceiling,
        "assumption": assumption,
    }
    return [_advice(case, offer).model_copy(update=figures)] if is_worthwhile(gain.speedup) else []


def offer_unpredicted(case: Case, offer: Offer, unknown: str | None = None) -> Advice:
    """A change that applies, but whose gain cannot be computed from this run: no figure, the reason instead."""
    reason = unknown or offer.unknown or case.obstacle
    return _advice(case, offer).model_copy(update={"assumption": reason and _sentence(reason)})


def refuse(case: Case, title: str, why: str, evidence: Sequence[Evidence]) -> Refusal:
    return Refusal(change=case.change, title=title, why=why, evidence=list(evidence))


def is_worthwhile(speedup: float) -> bool:
    return speedup >= THRESHOLDS.worthwhile_speedup


def predicted_step_us(case: Case, prediction: Prediction) -> float:
    """The measured step, scaled: errors of the model that both settings share cancel."""
    return case.rank.step_us / prediction.speedup


def _complete(case: Case, changed: dict[str, Setting]) -> dict[str, Setting]:
    """All that a run needs to be this one with the change: what it was given from outside, too."""
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


def _advice(case: Case, offer: Offer) -> Advice:
    return Advice(
        change=case.change,
        from_=offer.from_ if offer.from_ is not None else case.loader.settings.get(case.change),
        to=offer.to,
        predicted_speedup=None,
        low=None,
        high=None,
        ceiling=case.predictor.ceiling if case.predictor and case.waits_for_data else None,
        settings=_complete(case, offer.settings) if offer.settings is not None else {},
        title=offer.title,
        why=offer.why,
        evidence=list(offer.evidence),
        anatomy=None,
        changes_batch_order=offer.changes_batch_order,
        risk=offer.risk,
        diff=offer.diff,
        diff_file=case.loader.watched_at if offer.in_call else None,
        command=None,
        assumption=None,
    )


def _anatomy(case: Case, prediction: Prediction) -> Anatomy:
    step = round(predicted_step_us(case, prediction))
    wait = round(step * prediction.outcome.data_wait_us / prediction.outcome.step_us)
    return Anatomy(step_us=step, data_wait_us=wait, h2d_exposed_us=None, compute_us=step - wait)


def _assumption(case: Case) -> str | None:
    workload = case.predictor.workload if case.predictor else None
    if workload is not None and not workload.slowdown_measured:
        return "How much busy cores slow each other down was not measured on this host, so the interval is wide."
    if workload is not None and not workload.handover_measured:
        return "Handing batches over from workers was not seen in this run: typical times are assumed."
    if workload is not None and not workload.saw_workers:
        return "Handing batches over from workers was not seen in this run: it is taken as measured on this host."
    return None


def _sentence(reason: str) -> str:
    """``"the loader's …"`` → ``"The gain cannot be computed: the loader's …."``"""
    return f"The gain cannot be computed: {reason.rstrip('.')}."
