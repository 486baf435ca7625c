"""Whether a run carries a change that was advised for an earlier one: by what both runs show."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.advice.catalogue import all_changes
from underfed_server.advice.loader_settings import SETTINGS, normalised
from underfed_server.advice.proof.traits import NAMES, Traits
from underfed_server.model import Advice, Setting


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
