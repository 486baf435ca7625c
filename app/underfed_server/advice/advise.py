"""Every change of the catalogue considered against one run: advice by gain, refusals with their reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import join, quote

from underfed_server.advice.candidates import find_candidates, no_candidates
from underfed_server.advice.case import Case, make_case
from underfed_server.advice.catalogue import all_changes
from underfed_server.advice.change import Change
from underfed_server.advice.loader_settings import SETTINGS
from underfed_server.advice.offer import Offer, advice_of, bounded
from underfed_server.advice.order import in_order
from underfed_server.advice.saved import most_saved
from underfed_server.advice.tried import not_again, tried_beside
from underfed_server.diagnosis.overview import Overview
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, Anatomy, Candidates, Refusal, Setting, Verdict

COMMAND = "COMMAND"
"""Placeholder for the run's command where it is not known: ranks do not see their launcher's."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    advice: tuple[Advice, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    anatomy: Anatomy | None = None
    """Of the verdict that it was computed for."""
    could_be: float | None = None
    """What instant data would gain by that verdict."""
    candidates: Candidates | None = None
    """What a run that tunes itself is to try; ``None``: it does not, or was not judged yet."""


def advise(facts: RunFacts, verdict: Verdict, overview: Overview | None = None) -> Recommendation:
    """Empty unless the run loses time to its input, or will fail by it: a compute-bound run is left alone.

    ``overview``: of ``facts``, where the verdict was made of one.
    """
    case = make_case(facts, verdict, overview)
    return recommend(case) if case else Recommendation(candidates=_nothing_to_try(facts, verdict))


def _nothing_to_try(facts: RunFacts, verdict: Verdict) -> Candidates | None:
    is_judged = facts.loader is not None and verdict.bound != "unknown"
    return no_candidates(facts) if facts.tuned and is_judged else None


def recommend(case: Case) -> Recommendation:
    considered = [each for name, change in all_changes().items() for each in _outcomes(case.considering(name), change)]
    tried = tried_beside(case.facts)
    outcomes = [not_again(case.facts, each, tried) for each in considered]
    advice = in_order(case, (outcome for outcome in outcomes if isinstance(outcome, Advice)))
    refusals = (outcome for outcome in outcomes if isinstance(outcome, Refusal))
    could_be = case.could_be.speedup if case.could_be else None
    commanded = tuple(_with_commands(case.facts, advice))
    candidates = find_candidates(case, commanded) if case.facts.tuned else None
    return Recommendation(commanded, tuple(refusals), case.verdict.anatomy, could_be, candidates)


def _outcomes(case: Case, change: Change) -> list[Advice | Refusal | None]:
    found = None if change.needs_cause and case.cause is None else change.consider(case)
    each = found if isinstance(found, Sequence) else [found]
    saved = most_saved(case) if change.is_of_its_causes else None
    return [advice_of(case, bounded(one, saved) if saved else one) if isinstance(one, Offer) else one for one in each]


def _with_commands(facts: RunFacts, advice: Sequence[Advice]) -> list[Advice]:
    """With the line that tries each without touching the code. ``--apply`` takes the first that can be set: it is named
    beside the first fix alone, and where that cannot be set beside none.
    """
    settable = [one for one in advice if one.settings and all(SETTINGS[name].is_settable for name in one.settings)]
    words = join(facts.command) if facts.command else COMMAND
    has_others = sum(bool(each.steps) for each in facts.loaders) > 1
    commands = {
        id(one): f"underfed run --apply {quote(facts.run_id)} -- {words}"
        if one is advice[0]
        else f"underfed run {_set(one.settings, one.loader if has_others else None)} -- {words}"
        for one in settable
    }
    return [one.model_copy(update={"command": commands.get(id(one))}) for one in advice]


def _set(settings: Mapping[str, Setting], loader: str | None) -> str:
    """``loader``: the only one of several that they are for."""
    of = "" if loader is None else f"{loader}."
    return " ".join(f"--set {quote(f'{of}{name}={str(value).lower()}')}" for name, value in settings.items())
