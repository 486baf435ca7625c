"""What a run measured of other settings as it tuned itself: a setting that it tried and did not keep is not advised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from underfed_server.advice.loader_settings import SETTINGS, Settings, normalised
from underfed_server.advice.proof.pace import Gain
from underfed_server.advice.proof.tuned import gain_over
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, Refusal, Setting, Trial
from underfed_server.names import ChangeName

MOST_LISTED = 3


@dataclass(frozen=True, slots=True)
class Tried:
    """A setting that was measured and not kept."""

    settings: Settings
    gain: Gain
    """Against the setting in use."""
    differing: dict[str, Setting]
    """From the setting in use."""

    def __str__(self) -> str:
        """``num_workers=4 with prefetch_factor=8: × 1.02 (0.97–1.07)``"""
        settings = " with ".join(f"{name}={value}" for name, value in self.differing.items())
        return f"{settings}: × {self.gain.speedup:.2f} ({self.gain.low:.2f}–{self.gain.high:.2f})"


def tried_beside(facts: RunFacts) -> list[Tried]:
    """In searches that ended with the setting in use, the newest first. Each setting once."""
    found: list[Tried] = []
    trials = facts.tuned.trials if facts.tuned else ()
    for kept in reversed([each for each in trials if each.kept and _with(facts, each.settings) == _with(facts, {})]):
        known = [each.settings for each in found]
        found += [each for each in _not_kept(facts, trials, kept) if each.settings not in known]
    return found


def not_again(facts: RunFacts, outcome: Advice | Refusal | None, tried: Sequence[Tried]) -> Advice | Refusal | None:
    """What is advised, unless it was tried; what is refused, with what was measured of it."""
    if isinstance(outcome, Advice):
        advised = _with(facts, outcome.settings)
        same = next((each for each in tried if each.settings == advised), None)
        if same is None:
            return outcome
        why = _sentence([same])
        return Refusal(change=outcome.change, title=outcome.title, why=why, evidence=outcome.evidence)
    if isinstance(outcome, Refusal):
        of_change = [each for each in tried if _is_more(facts, each, outcome.change)]
        return outcome.model_copy(update={"why": f"{_sentence(of_change)} {outcome.why}"}) if of_change else outcome
    return None


def _is_more(facts: RunFacts, tried: Tried, change: ChangeName) -> bool:
    """What is refused is more of a setting: that less of it was slower says nothing of that."""
    if next(iter(tried.differing), None) != change:
        return False
    value, present = tried.settings[change], _with(facts, {})[change]
    return not isinstance(value, int) or not isinstance(present, int) or value > present


def _sentence(tried: Sequence[Tried]) -> str:
    return f"Tried by --tune, against what is in use: {'; '.join(map(str, tried[:MOST_LISTED]))}."


def _not_kept(facts: RunFacts, trials: Sequence[Trial], kept: Trial) -> Iterator[Tried]:
    before = _with(facts, kept.settings)
    for each in trials:
        gain = gain_over(kept, each) if each.search == kept.search and each is not kept else None
        if gain is not None:
            now = _with(facts, each.settings)
            changed = [name for name, value in now.items() if value != before[name]]
            yield Tried(now, gain, {name: now[name] for name in changed if _says_something(name, now)})


def _says_something(name: str, settings: Settings) -> bool:
    return bool(settings["num_workers"]) or not SETTINGS[name].needs_workers


def _with(facts: RunFacts, settings: Settings) -> dict[str, Setting]:
    """Those of the loader with these in their place."""
    return normalised({**facts.settings, **settings})
