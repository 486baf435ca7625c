"""Whether a run carries a change that was advised for an earlier one: by what is seen of both, not by what was meant.

Changes of code that leave no such sign (``prefetcher``, ``non_blocking``, ``gpu_decode``, ``vectorize_getitem``) are
never said to be carried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from underfed_server.advice.traits import NAMES, SETTINGS, Traits, normalised
from underfed_server.model import Advice, Change, Setting

Sign = Callable[[Traits, Traits], bool]
"""Of the earlier and the later run: shows that the change came between them."""

HALF = 0.5
"""What a change of code must at least have taken away to be seen by its effect: noise and luck do not halve it."""

UNKNOWN_IS_ANY = ("batch_size", "sharing_strategy", "multiprocessing_context")
"""Settings of which ``None`` says that they were not told, and not that they have a default."""


def carried_advice(earlier: Traits, later: Traits, advised: Sequence[Advice]) -> Advice | None:
    """The first of what was ``advised`` for the earlier run that the later one carries wholly; ``None``: none."""
    return next((advice for advice in advised if _is_carried(advice, earlier, later)), None)


def may_carry(settings: Traits, advice: Advice) -> bool:
    """``False`` where the later run's loader settings rule it out, which is known before anything is measured."""
    wanted = _asked(advice)
    return _hold(wanted, normalised(settings), normalised({**settings, **wanted}))


def also_changed(earlier: Traits, later: Traits, advice: Advice) -> list[str]:
    """What else differs between the runs, in words: with it the gain of ``advice`` cannot be told."""
    expected = _expected(earlier, advice)
    own = _OWN.get(advice.change)
    found = [name for name in (*SETTINGS, *NAMES) if name != own and _differ(name, expected.get(name), later.get(name))]
    return [f"{NAMES.get(name, name)} ({_word(expected.get(name))} → {_word(later.get(name))})" for name in found]


def _is_carried(advice: Advice, earlier: Traits, later: Traits) -> bool:
    wanted, expected = _asked(advice), _expected(earlier, advice)
    if not _hold(wanted, later, expected):
        return False
    sign = _SIGNS.get(advice.change)
    return sign(earlier, later) if sign else any(expected[name] != earlier.get(name) for name in wanted)


def _asked(advice: Advice) -> dict[str, Setting]:
    """The settings that the advice is made of, as far as they can be seen."""
    own = {advice.change: advice.to} if advice.change in SETTINGS else {}
    return {name: value for name, value in (own | advice.settings).items() if name in SETTINGS}


def _hold(wanted: Traits, later: Traits, expected: Traits) -> bool:
    return all(later.get(name) == expected[name] for name in wanted)


def _expected(earlier: Traits, advice: Advice) -> Traits:
    """The earlier run with the advice in it."""
    settings = {name: earlier.get(name) for name in SETTINGS} | _asked(advice)
    return {**earlier, **normalised(settings)}


def _differ(name: str, before: Setting, after: Setting) -> bool:
    is_unknown = (name in NAMES or name in UNKNOWN_IS_ANY) and (before is None or after is None)
    return not is_unknown and before != after


def _word(value: Setting) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _numbers(name: str, earlier: Traits, later: Traits) -> tuple[float, float] | None:
    before, after = earlier.get(name), later.get(name)
    if isinstance(before, (int, float)) and isinstance(after, (int, float)):
        return float(before), float(after)
    return None


def _halved(name: str) -> Sign:
    def sign(earlier: Traits, later: Traits) -> bool:
        known = _numbers(name, earlier, later)
        return known is not None and known[1] <= HALF * known[0] and known[0] > 0

    return sign


def _grown(name: str) -> Sign:
    def sign(earlier: Traits, later: Traits) -> bool:
        known = _numbers(name, earlier, later)
        return known is not None and known[1] > known[0]

    return sign


def _gone(name: str) -> Sign:
    """Of what must not be there at all: seen before, and looked for in vain afterwards."""

    def sign(earlier: Traits, later: Traits) -> bool:
        return bool(earlier.get(name)) and later.get(name) in (False, 0)

    return sign


def _moved_to_memory(earlier: Traits, later: Traits) -> bool:
    return later.get("storage") == "memory" and earlier.get("storage") not in (None, "memory")


_SIGNS: Mapping[Change, Sign] = {
    "tmpfs": _moved_to_memory,
    "fewer_tensors": _halved("batch_tensors"),
    "vectorize_collate": _halved("collate_us"),
    "faster_sampler": _halved("sampler_us"),
    "shm_size": _grown("shm_total_bytes"),
    "cpu_allocation": _grown("usable_cores"),
    "shard_iterable": _gone("repeated_batches"),
    "fix_rank": _gone("has_straggler"),
}

_OWN: Mapping[Change, str] = {"tmpfs": "storage", "fewer_tensors": "batch_tensors", "cpu_allocation": "usable_cores"}
"""What a change alters besides settings, and may."""
