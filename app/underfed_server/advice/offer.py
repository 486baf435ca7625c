"""One change offered as advice: the prediction, or its absence, put into the contract's shape."""

from __future__ import annotations

from dataclasses import dataclass

from underfed_server.advice.case import Case
from underfed_server.advice.diff import diff_of
from underfed_server.advice.predict import Prediction, Predictor
from underfed_server.model import Advice, Anatomy, Change, Evidence, Setting


@dataclass(frozen=True, slots=True)
class Wording:
    """What a change says of itself; figures are evidence, not prose."""

    title: str
    why: str
    risk: str
    evidence: list[Evidence]


def offer_predicted(
    case: Case, predictor: Predictor, prediction: Prediction, *, change: Change, to: Setting, wording: Wording
) -> Advice:
    """A change whose gain was computed from this run."""
    number, factor = prediction.setting.num_workers, prediction.setting.prefetch_factor
    return _advice(case, change, to, {"num_workers": number, "prefetch_factor": factor}, wording).model_copy(
        update={
            "predicted_speedup": prediction.speedup,
            "low": prediction.low,
            "high": prediction.high,
            "ceiling": predictor.ceiling,
            "anatomy": _anatomy(case, prediction),
            "assumption": _assumption(predictor),
        }
    )


def offer_unpredicted(
    case: Case, *, change: Change, to: Setting, settings: dict[str, Setting], wording: Wording
) -> Advice:
    """A change that applies, but whose gain cannot be computed from this run: no figure, the reason instead."""
    return _advice(case, change, to, settings, wording).model_copy(update={"assumption": case.obstacle})


def predicted_step_us(case: Case, prediction: Prediction) -> float:
    """The measured step, scaled: errors of the model that both settings share cancel."""
    return case.rank.step_us / prediction.speedup


def _advice(case: Case, change: Change, to: Setting, settings: dict[str, Setting], wording: Wording) -> Advice:
    loader = case.loader
    return Advice(
        change=change,
        from_=loader.settings.get(change),
        to=to,
        predicted_speedup=None,
        low=None,
        high=None,
        ceiling=None,
        settings=settings,
        title=wording.title,
        why=wording.why,
        evidence=wording.evidence,
        anatomy=None,
        changes_batch_order=False,
        risk=wording.risk,
        diff=diff_of(loader, {change: to}),
        diff_file=loader.watched_at,
        command=None,
        assumption=None,
    )


def _anatomy(case: Case, prediction: Prediction) -> Anatomy:
    step = round(predicted_step_us(case, prediction))
    wait = round(step * prediction.outcome.data_wait_us / prediction.outcome.step_us)
    return Anatomy(step_us=step, data_wait_us=wait, h2d_exposed_us=None, compute_us=step - wait)


def _assumption(predictor: Predictor) -> str | None:
    if not predictor.replay.slowdown_measured:
        return "How much busy cores slow each other down was not measured on this host, so the interval is wide."
    if not predictor.replay.saw_workers:
        return "Handing batches over from workers was not seen in this run: typical times are assumed."
    return None
