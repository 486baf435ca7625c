"""Every change of the catalogue considered against one run: advice by gain, refusals with their reason."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from shlex import join, quote

from underfed_server.advice.candidates import find_candidates, no_candidates
from underfed_server.advice.case import Case, cures, make_case
from underfed_server.advice.catalogue import all_changes
from underfed_server.advice.change import Change
from underfed_server.advice.loader_settings import SETTINGS
from underfed_server.advice.offer import Offer, advice_of, bounded
from underfed_server.advice.saved import most_saved
from underfed_server.diagnosis.measures import used_cores_fraction
from underfed_server.diagnosis.overview import Overview
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, Anatomy, Candidates, Refusal, Setting, Verdict
from underfed_server.names import ChangeName

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
    outcomes = [each for name, change in all_changes().items() for each in _outcomes(case.considering(name), change)]
    advice = _in_order(case, (outcome for outcome in outcomes if isinstance(outcome, Advice)))
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


def _in_order(case: Case, advice: Iterable[Advice]) -> list[Advice]:
    """First the cures of the leading cause, where their gain cannot be compared with that of the others; then by gain,
    as it is written, of what promises as much a setting before work on the host or the data; and what has none by the
    cost of the causes that it cures. A stable sort.
    """
    offered = list(advice)
    ahead = _cures_ahead(case, offered)

    def place(one: Advice) -> tuple[bool, float, bool, float]:
        is_work = one.is_promised and not one.settings
        return one.change not in ahead, -round(_gain(one), 2), is_work, -case.cost_fraction(one.change)

    return _cheaper_before_more(case, sorted(offered, key=place))


ALL_USED = 0.95
"""Share of the usable cores from which there is none for one more worker."""


def _cheaper_before_more(case: Case, ordered: list[Advice]) -> list[Advice]:
    """On cores that are all in use, doing the costliest call in a cheaper way comes before another number of workers
    that gains less than it may.
    """
    used = used_cores_fraction(case.rank, case.facts.host)
    if used is None or used < ALL_USED:
        return ordered
    cheaper = next((one for one in ordered if one.change == "cheaper_transform" and one.ceiling), None)
    if cheaper is None:
        return ordered
    ahead = [one for one in ordered[: ordered.index(cheaper)] if one.change == "num_workers"]
    if not ahead or _gain(ahead[0]) >= (cheaper.ceiling or 0.0):
        return ordered
    rest = [one for one in ordered if one is not cheaper]
    at = rest.index(ahead[0])
    return [*rest[:at], cheaper, *rest[at:]]


def _cures_ahead(case: Case, offered: Sequence[Advice]) -> set[ChangeName]:
    """None of them has a figure: whatever else has one acts on what costs less. Or one goes first by itself. Or it is
    one of whole epochs, where the others' are of the loop between their starts.
    """
    leading = case.verdict.causes[0] if case.verdict.causes else None
    cures_it = [one for one in offered if leading is not None and cures(one.change, leading)]
    between = {one.change for one in cures_it if one.predicted_speedup and all_changes()[one.change].is_between_epochs}
    first = {one.change for one in cures_it if (goes := all_changes()[one.change].goes_first) and goes(case)}
    has_figure = any(one.predicted_speedup is not None for one in cures_it)
    return between or first or (set() if has_figure else _unpromised(cures_it, offered))


def _unpromised(cures_it: Sequence[Advice], offered: Sequence[Advice]) -> set[ChangeName]:
    """What a cheaper line may gain at most comes before what another number of workers promises only where no core is
    left for one (:func:`_cheaper_before_more`).
    """
    ahead = {one.change for one in cures_it}
    promised = any(one.change == "num_workers" and one.predicted_speedup is not None for one in offered)
    return ahead - {"cheaper_transform"} if promised else ahead


def _gain(one: Advice) -> float:
    """What is gained at least; of what is only to be tried the middle of its interval; 0 where nothing was computed."""
    if one.is_promised and one.predicted_speedup is not None:
        return one.predicted_speedup if one.low is None else one.low
    return math.sqrt(one.low * one.high) if one.low is not None and one.high is not None else 0.0


def _with_commands(facts: RunFacts, advice: Sequence[Advice]) -> list[Advice]:
    """With the line that tries each without touching the code. ``--apply`` takes the first that can be set: it is told
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
