"""Cases of made-up runs: facts altered part by part, a verdict that names causes, a predictor with given answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from underfed_server.advice.advise import Recommendation, advise
from underfed_server.advice.case import Case, make_case
from underfed_server.advice.prediction.predict import Prediction, Predictor
from underfed_server.advice.prediction.simulate import Outcome, SimulatedSetting
from underfed_server.advice.prediction.workload import PredictionError
from underfed_server.facts.record import RunFacts
from underfed_server.measurements import BatchRows, StepRows
from underfed_server.model import Advice, Bound, CauseFinding, RankDiagnosis, Refusal, Verdict
from underfed_server.names import ChangeName

Changes = Mapping[str, Any]
GIB = 1 << 30


def altered(
    facts: RunFacts,
    *,
    loader: Changes | None = None,
    settings: Changes | None = None,
    host: Changes | None = None,
    rank: Changes | None = None,
    process: Changes | None = None,
    steps: Changes | None = None,
    batches: Changes | None = None,
    **run: Any,
) -> RunFacts:
    """The same run with other facts. Plain numbers for columns of steps and batches stand for every row."""
    assert facts.loader is not None
    (old,) = facts.ranks
    set_now = {**facts.loader.settings, **(settings or {})}
    new_loader = facts.loader.model_copy(update={"settings": set_now, **(loader or {})})
    new_rank = replace(
        old,
        process=replace(old.process, **(process or {})),
        steps=replace(old.steps, **_columns(old.steps, steps)),
        batches=replace(old.batches, **_columns(old.batches, batches)),
        **(rank or {}),
    )
    return replace(facts, loader=new_loader, host=facts.host.model_copy(update=host), ranks=(new_rank,), **run)


def _columns(old: StepRows | BatchRows, changes: Changes | None) -> dict[str, Any]:
    def column(name: str, value: Any) -> Any:
        return np.resize(np.asarray(value, dtype=getattr(old, name).dtype), len(old))

    return {name: column(name, value) for name, value in (changes or {}).items()}


def made_verdict(bound: Bound = "data", stragglers: tuple[int, ...] = (), /, **costs: float) -> Verdict:
    """``costs``: the causes that it names, largest first, and the share of a step that each costs."""
    causes = [CauseFinding(cause=name, cost_fraction=cost, sentence=name, evidence=[]) for name, cost in costs.items()]
    known = {
        "bound": bound,
        "clock": "host",
        "level": "bound",
        "confidence": "high",
        "sentence": "",
        "judged_steps": 300,
    }
    found = {
        "causes": sorted(causes, key=lambda cause: -cause.cost_fraction),
        "beside_training": [],
        "signals": [],
        "ranks": [RankDiagnosis(rank=rank, data_stall_fraction=0.3, straggler=True) for rank in stragglers],
    }
    return Verdict.model_validate(dict.fromkeys(Verdict.model_fields) | known | found)


def made_case(
    facts: RunFacts,
    verdict: Verdict,
    speedup: Callable[[SimulatedSetting], float] | None = None,
    *,
    adds_readers: bool = False,
) -> Case:
    """``speedup``: returns what the predictor answers without simulating; it may raise ``PredictionError``."""
    case = make_case(facts, verdict)
    assert case is not None
    return case if speedup is None else replace(case, predictor=foretelling(case, speedup, adds_readers=adds_readers))


def foretelling(case: Case, speedup: Callable[[SimulatedSetting], float], *, adds_readers: bool = False) -> Predictor:
    assert case.predictor is not None

    def predict(setting: SimulatedSetting) -> Prediction:
        factor = speedup(setting)
        return Prediction(setting, factor, factor * 0.95, factor * 1.05, Outcome(100.0 / factor, 10.0))

    answers = {"quick": speedup, "predict": predict, "adds_readers": lambda _setting: adds_readers}
    answers["may_keep_its_cores"] = lambda _setting: False
    same = case.predictor
    known = {"workload": same.workload, "class_of": same.class_of, "recorded": same.recorded, "ceiling": 3.0}
    return cast(Predictor, SimpleNamespace(**known, **answers))


def unforeseeable(_setting: SimulatedSetting) -> float:
    raise PredictionError("it was never seen")


def recommended(facts: RunFacts, bound: Bound = "data", /, **costs: float) -> Recommendation:
    return advise(facts, made_verdict(bound, **costs))


def of(change: ChangeName, recommendation: Recommendation) -> Advice:
    return next(advice for advice in recommendation.advice if advice.change == change)


def changes(recommendation: Recommendation) -> set[str]:
    return {advice.change for advice in recommendation.advice}


def refused(change: ChangeName, recommendation: Recommendation) -> Refusal:
    return next(refusal for refusal in recommendation.refusals if refusal.change == change)
