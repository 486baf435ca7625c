"""Which settings may be tried: proposals, or those of a plain rule, that fit what is in use and leave alone what was
set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from underfed.exchange.config import Value
from underfed.exchange.tuning import Proposed
from underfed.trainer.settings.overrides import PREFETCH_FACTOR
from underfed.trainer.tuning.blocks import least_steps
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.search import LEAST_GAIN, Candidate

BLOCK_FRACTION = 0.4
"""Of the steps for trials is a block with its switch to take at most: the more are loaded ahead, the more it takes, and
several candidates have to be measured, the fastest of them twice."""

PASS_FRACTION = 0.5
"""Of a pass may be loaded ahead at most: it begins by filling the queue, and ends by emptying it."""

HANDED_OVER_PER_NS = 2.0
"""Bytes of a batch that a worker hands over in a nanosecond, about: it writes them to new shared memory."""

MOST_PLAIN = 5
DEEPER = 4
"""Batches ahead of each worker that even out loads of different length."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What else shows which settings are worth a trial. ``pass_steps``: of a pass; ``None``: not known.
    ``batch_bytes``: 0: not known. ``step_ns``: under the setting in use."""

    most_steps: int
    pass_steps: int | None = None
    batch_bytes: int = 0
    step_ns: float = 0.0


def is_for(proposed: Proposed, present: LoaderSetting) -> bool:
    """Whether it was computed for the setting in use: after a switch the service may not have judged it yet."""
    in_use = present.settings()
    return all(proposed.settings.get(name, in_use[name]) == in_use[name] for name in ("num_workers", "prefetch_factor"))


def candidates_in(proposed: Proposed, present: LoaderSetting) -> list[Candidate]:
    return [_candidate(each, present) for each in proposed.candidates]


def plain_candidates(present: LoaderSetting, step_ns: float, wait_ns: float, cores: float) -> list[Candidate]:
    """Where no service proposes any: as many workers as the measured load needs, and what lies beside that. The most
    promising first. ``cores``: that this process may use.

    Where training waits, all workers load all the time, so the mean load of a batch is the step times their number.
    With N workers a batch comes each Nth of that; more than the rest of a step needs gain nothing. Loading that
    computes has no more than the cores; loading that waits may use more workers than that, so twice the cores are tried
    last.
    """
    work_ns = max(step_ns - wait_ns, 1e6)
    load_ns = wait_ns if not present.num_workers else step_ns * present.num_workers
    needed, most = math.ceil(load_ns / work_ns), max(1, math.floor(cores))
    counts = [min(needed, most), most, needed if needed <= 2 * most else 2 * most, max(1, min(needed, most) // 2)]
    settings = [present.changed({"num_workers": count}) for count in counts]
    if present.num_workers:
        settings.append(present.changed({"prefetch_factor": max(DEEPER, 2 * (present.prefetch_factor or 2))}))
    different = [each for each in dict.fromkeys(settings) if each != present]
    return [Candidate(each) for each in different[:MOST_PLAIN]]


def to_try(
    found: Sequence[Candidate], present: LoaderSetting, fixed: Mapping[str, Value], around: Surroundings
) -> list[Candidate]:
    """Each once, without the one in use, with queues that the passes and the steps for trials suffice for. ``fixed``:
    what ``--set`` set.

    One without workers comes first: its start takes no steps, and the others, which fill queues, may use up those for
    trials before its turn. It is also tried where handing over batches takes a good part of a step: how much that
    saves no model of one run knows.
    """
    kept = [name for name in fixed if name in present.settings()]
    wanted = [_fitted(each, present, fixed, around) for each in found]
    if present.num_workers and around.batch_bytes / HANDED_OVER_PER_NS >= LEAST_GAIN * around.step_ns > 0:
        wanted.append(Candidate(present.changed({"num_workers": 0})))
    free: dict[LoaderSetting, Candidate] = {}
    for each in wanted:
        if each.setting != present and all(getattr(each.setting, name) == getattr(present, name) for name in kept):
            free.setdefault(each.setting, each)
    return sorted(free.values(), key=lambda each: each.setting.num_workers > 0)


def _fitted(
    candidate: Candidate, present: LoaderSetting, fixed: Mapping[str, Value], around: Surroundings
) -> Candidate:
    """With a queue that is short enough; nothing is predicted of another setting."""
    setting = candidate.setting
    if not setting.num_workers or "prefetch_factor" in fixed:
        return candidate
    block = present.capacity + 1 + least_steps(setting.num_workers)
    ahead = round(BLOCK_FRACTION * around.most_steps) - block
    fitted = _with_queue(setting, max(ahead, PREFETCH_FACTOR * setting.num_workers))
    if around.pass_steps is not None:
        ahead = round(PASS_FRACTION * around.pass_steps)
        if "num_workers" not in fixed and fitted.num_workers * PREFETCH_FACTOR > ahead:
            fitted = replace(fitted, num_workers=max(1, ahead // PREFETCH_FACTOR))
        fitted = _with_queue(fitted, ahead)
    return candidate if fitted == setting else Candidate(fitted)


def _with_queue(setting: LoaderSetting, most: int) -> LoaderSetting:
    """Of at most so many batches, but of one for each worker at least."""
    factor = min(setting.prefetch_factor or PREFETCH_FACTOR, max(1, most // setting.num_workers))
    return replace(setting, prefetch_factor=factor)


def _candidate(each: Mapping[str, Any], present: LoaderSetting) -> Candidate:
    settings = each.get("settings")
    known = settings if isinstance(settings, dict) else {}
    numbers = (each.get(name) for name in ("predicted_speedup", "low", "high"))
    return Candidate(present.changed(known), *(one if isinstance(one, (int, float)) else None for one in numbers))
