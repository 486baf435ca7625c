"""Every change of the catalogue considered against one run: advice by gain, refusals with their reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from shlex import join, quote

from underfed_server.advice.case import Case, make_case
from underfed_server.advice.catalogue import all_changes
from underfed_server.advice.change import Change
from underfed_server.advice.loader_settings import SETTINGS
from underfed_server.advice.offer import Offer, advice_of
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, Refusal, Setting, Verdict

COMMAND = "COMMAND"
"""Placeholder for the run's command where it is not known: ranks do not see their launcher's."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    advice: tuple[Advice, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def advise(facts: RunFacts, verdict: Verdict) -> Recommendation:
    """Empty unless the run loses time to its input, or will fail by it: a compute-bound run is left alone."""
    case = make_case(facts, verdict)
    return recommend(case) if case else Recommendation()


def recommend(case: Case) -> Recommendation:
    outcomes = [_outcome(case.considering(name), change) for name, change in all_changes().items()]
    advice = _in_order(case, (outcome for outcome in outcomes if isinstance(outcome, Advice)))
    refusals = (outcome for outcome in outcomes if isinstance(outcome, Refusal))
    return Recommendation(tuple(_with_commands(case.facts, advice)), tuple(refusals))


def _outcome(case: Case, change: Change) -> Advice | Refusal | None:
    found = None if change.needs_cause and case.cause is None else change.consider(case)
    return advice_of(case, found) if isinstance(found, Offer) else found


def _in_order(case: Case, advice: Iterable[Advice]) -> list[Advice]:
    """By predicted gain; changes without one by the cost of the causes that they cure. A stable sort."""
    return sorted(advice, key=lambda one: (-(one.predicted_speedup or 0.0), -case.cost_fraction(one.change)))


def _with_commands(facts: RunFacts, advice: Sequence[Advice]) -> list[Advice]:
    """With the line that tries each without touching the code. ``--apply`` takes the first that can be set.

    Settings from outside are the training loaders': none where the advice is for another one.
    """
    if facts.judged_loader and facts.judged_loader.role != "train":
        return list(advice)
    settable = [one for one in advice if one.settings and all(SETTINGS[name].is_settable for name in one.settings)]
    words = join(facts.command) if facts.command else COMMAND
    commands = {
        id(one): f"underfed run --apply {quote(facts.run_id)} -- {words}"
        if one is settable[0]
        else f"underfed run {_set(one.settings)} -- {words}"
        for one in settable
    }
    return [one.model_copy(update={"command": commands.get(id(one))}) for one in advice]


def _set(settings: Mapping[str, Setting]) -> str:
    return " ".join(f"--set {name}={str(value).lower()}" for name, value in settings.items())
