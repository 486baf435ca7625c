"""Which settings may be tried: proposals that fit what is in use, and leave alone what was set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from underfed.exchange.config import Value
from underfed.exchange.tuning import Proposed
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.search import Candidate


def is_for(proposed: Proposed, present: LoaderSetting) -> bool:
    """Whether it was computed for the setting in use: after a switch the service may not have judged it yet."""
    in_use = present.settings()
    return all(proposed.settings.get(name, in_use[name]) == in_use[name] for name in ("num_workers", "prefetch_factor"))


def candidates_in(proposed: Proposed, present: LoaderSetting) -> list[Candidate]:
    return [_candidate(each, present) for each in proposed.candidates]


def to_try(found: Sequence[Candidate], present: LoaderSetting, fixed: Mapping[str, Value]) -> list[Candidate]:
    """Each once, without the one in use. ``fixed``: what ``--set`` set.

    One without workers comes first: its start takes no steps, and the others, which fill queues, may use up those for
    trials before its turn.
    """
    kept = [name for name in fixed if name in present.settings()]
    free = [
        each
        for each in found
        if each.setting != present and all(getattr(each.setting, name) == getattr(present, name) for name in kept)
    ]
    return sorted({each.setting: each for each in free}.values(), key=lambda each: each.setting.num_workers > 0)


def _candidate(each: Mapping[str, Any], present: LoaderSetting) -> Candidate:
    settings = each.get("settings")
    known = settings if isinstance(settings, dict) else {}
    numbers = (each.get(name) for name in ("predicted_speedup", "low", "high"))
    return Candidate(present.changed(known), *(one if isinstance(one, (int, float)) else None for one in numbers))
