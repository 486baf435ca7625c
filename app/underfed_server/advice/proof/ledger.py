"""Proof: whether a run carries a change advised for an earlier one, and what it gained beside what was predicted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from underfed_server.advice.catalogue import all_changes
from underfed_server.advice.loader_settings import SETTINGS, normalised
from underfed_server.advice.proof.pace import Pace, Paces, comparable, is_inside, paces_of, speedup
from underfed_server.advice.proof.traits import NAMES, Traits
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, LedgerEntry, Setting
from underfed_server.names import CauseName


@dataclass(frozen=True, slots=True)
class Pairing:
    """Advice for an earlier run that a later run carries, and how fast the earlier run was."""

    advice_of: str
    cause: CauseName | None
    """The leading cause of the earlier run."""
    advice: Advice
    paces: Paces
    also_changed: tuple[str, ...] = ()
    """What differs besides the advice: if anything does, the runs cannot be compared."""
    loader: str | None = None
    """What the advice was for."""


def compare(later: RunFacts, pairing: Pairing) -> LedgerEntry:
    """What the advice gained in ``later``, which carries it.

    It is inside the predicted interval when the observed gain itself is, not merely a part of the gain's own interval:
    noise may turn a true prediction into a miss, but never hides a wrong one.
    """
    advice, paces = pairing.advice, paces_of(later)
    both = comparable(pairing.paces, paces, by_epochs_only=all_changes()[advice.change].is_between_epochs)
    why_not = _why_not(later, pairing, both)
    observed = speedup(*both) if both and not why_not else None
    value, low, high = observed or (None, None, None)
    return LedgerEntry(
        advice_of=pairing.advice_of,
        loader=pairing.loader,
        run_id=later.run_id,
        change=advice.change,
        cause=pairing.cause,
        settings=advice.settings,
        predicted_speedup=advice.predicted_speedup,
        low=advice.low,
        high=advice.high,
        observed_speedup=value,
        observed_low=low,
        observed_high=high,
        inside_interval=is_inside(value, advice.predicted_speedup, advice.low, advice.high),
        why_not=why_not,
    )


def _why_not(later: RunFacts, pairing: Pairing, both: tuple[Pace, Pace] | None) -> str | None:
    if pairing.also_changed:
        return f"not comparable, changed as well: {', '.join(pairing.also_changed)}"
    if both is not None:
        return None
    is_of_epochs = all_changes()[pairing.advice.change].is_between_epochs
    of = "whole epochs" if is_of_epochs else "steps"
    if (pairing.paces.epochs if is_of_epochs else pairing.paces.steps) is None:
        return f"the earlier run had too few {of} to compare with"
    return f"not enough {of} yet" if later.status == "running" else f"the run had too few {of} to compare"


def carried_advice(earlier: Traits, later: Traits, advised: Sequence[Advice]) -> Advice | None:
    """The first of what was ``advised`` for the earlier run that the later one carries wholly; ``None``: none."""
    return next((advice for advice in advised if _is_carried(advice, earlier, later)), None)


def may_carry(settings: Traits, advice: Advice) -> bool:
    """``False`` where the later run's loader settings rule it out, which is known before anything is measured."""
    wanted = _asked(advice)
    return _hold(wanted, normalised(settings), normalised({**settings, **wanted}))


def also_changed(earlier: Traits, later: Traits, advice: Advice) -> list[str]:
    """What else differs between the runs, in words: with it the gain of ``advice`` is not known."""
    expected = _expected(earlier, advice)
    own = all_changes()[advice.change].alters
    found = [name for name in (*SETTINGS, *NAMES) if name != own and _differ(name, expected.get(name), later.get(name))]
    return [f"{NAMES.get(name, name)} ({_word(expected.get(name))} → {_word(later.get(name))})" for name in found]


def mates_changed(earlier: RunFacts, later: RunFacts) -> list[str]:
    """What differs of the other loaders that the loop asks, in words: its steps wait for them, too."""
    before, after = _mates(earlier), _mates(later)
    if before.keys() != after.keys():
        return [f"other loaders of the loop ({_listed(before)} → {_listed(after)})"]
    return [
        f"{name} of {loader} ({_word(settings[name])} → {_word(after[loader][name])})"
        for loader, settings in before.items()
        for name in SETTINGS
        if settings and after[loader] and _differ(name, settings[name], after[loader][name])
    ]


def _mates(facts: RunFacts) -> dict[str, dict[str, Setting]]:
    """Settings by loader; none where these are not known."""
    infos = {each.loader: each.info for each in facts.loaders}
    return {mate: normalised(info.settings) if (info := infos[mate]) else {} for mate in facts.loop_mates}


def _listed(loaders: Iterable[str]) -> str:
    return ", ".join(sorted(loaders)) or "none"


def _is_carried(advice: Advice, earlier: Traits, later: Traits) -> bool:
    wanted, expected = _asked(advice), _expected(earlier, advice)
    if not _hold(wanted, later, expected):
        return False
    sign = all_changes()[advice.change].sign
    return sign(earlier, later) if sign else any(expected[name] != earlier.get(name) for name in wanted)


def _asked(advice: Advice) -> dict[str, Setting]:
    """The settings that the advice consists of, as far as they can be seen."""
    own = {advice.change: advice.to} if advice.change in SETTINGS else {}
    return {name: value for name, value in (own | advice.settings).items() if name in SETTINGS}


def _hold(wanted: Traits, later: Traits, expected: Traits) -> bool:
    return all(later.get(name) == expected[name] for name in wanted)


def _expected(earlier: Traits, advice: Advice) -> Traits:
    """The earlier run with the advice in it."""
    settings = {name: earlier.get(name) for name in SETTINGS} | _asked(advice)
    return {**earlier, **normalised(settings)}


def _differ(name: str, before: Setting, after: Setting) -> bool:
    may_be_unknown = name in NAMES or SETTINGS[name].may_be_unknown
    is_unknown = may_be_unknown and (before is None or after is None)
    return not is_unknown and before != after


def _word(value: Setting) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
