"""The loaders of a run beside each other: which of them its verdict is about, and a line on each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from underfed_server.diagnosis.bound import find_bound, find_level, read_losses
from underfed_server.diagnosis.rounded import percent, percents
from underfed_server.diagnosis.slow_ranks import SlowRanks, slow_ranks
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.growth import US_PER_HOUR
from underfed_server.facts.record import LoaderFacts, RunFacts, run_us
from underfed_server.model import Bound, Diagnosis, Level, LoaderLine, Role, Status, Verdict

COSTLY_FRACTION = 0.05
"""Share of the run that goes to waiting for a loader, from which the verdict may be about it though nothing is trained
with it: from here on XProf calls a run input-bound, and so do the levels."""

MOST_OF_RUN = 0.9
"""Share of the run in the judged loop, from which what is said of its steps is as good as said of the run."""

NUMBERED = re.compile(r"loader-\d+")
"""The agent's name of a loader that its program did not name."""

NEARLY = 1e-9

KEEP_FACTOR = 0.8
"""A loader that the verdict is about stays so until its loss is below this share of that limit."""


def choose_loader(loaders: Sequence[LoaderFacts], known: Diagnosis | None, status: Status) -> str | None:
    """The loader that loses most of the run's time, among those with enough steps for a verdict. ``None``: no step yet.

    Of loaders that nothing is trained with, one that costs little of the run is left to its own diagnosis. The one of
    the last verdict stays until another loses clearly more, and once the run has ended; no verdict decides nothing.

    Args:
        known: the last diagnosis of the run.
    """
    used = [each for each in loaders if each.steps]
    kept = next((each for each in used if _is_of(known, each)), None)
    if kept and known and status != "running" and known.status == status:
        return kept.loader
    ready = [each for each in used if each.judged_steps >= THRESHOLDS.needed_steps] or used
    whole_us = run_us(loaders)
    counted = [each for each in ready if _counts(each, whole_us, is_kept=each is kept)] or ready
    if len(counted) < 2:
        # Mostly there is one: what it loses takes putting all ranks side by side.
        return counted[0].loader if counted else None
    most = max(counted, key=lost_us)
    if kept in counted and kept and lost_us(most) < THRESHOLDS.clearly_larger_factor * lost_us(kept):
        return kept.loader
    return most.loader


def lost_us(each: LoaderFacts) -> float:
    """Waiting for it, over the whole run and all ranks: where one of them is late, the others wait for that inside
    their steps."""
    return slow_ranks(each.ranks).input_lost_us


def _is_of(known: Diagnosis | None, each: LoaderFacts) -> bool:
    return known is not None and known.bound != "unknown" and known.loader == each.loader


def _counts(each: LoaderFacts, whole_us: float, *, is_kept: bool) -> bool:
    limit = COSTLY_FRACTION * (KEEP_FACTOR if is_kept else 1.0)
    return each.role == "train" or lost_us(each) >= limit * whole_us


def line_of(each: LoaderFacts, facts: RunFacts, slow: SlowRanks, verdict: Verdict) -> LoaderLine:
    """``slow``: of the run. ``verdict``: on the judged loader, which is kept while its loss is near the limit."""
    own = (verdict.bound, verdict.level, verdict.data_stall_fraction)
    slow = slow if each is facts.judged_loader else slow_ranks(each.ranks)
    bound, level, fraction = own if each is facts.judged_loader else _judged_alone(each, slow)
    return LoaderLine(
        loader=each.loader,
        role=each.role,
        bound=bound,
        level=level,
        data_stall_fraction=fraction,
        hours_lost=slow.input_lost_us / US_PER_HOUR,
        share_of_run_fraction=loop_share(each, facts.loaders),
        steps=each.steps,
        epochs=each.epochs,
        loop=each.loop,
        rank=slow.named,
    )


def _judged_alone(each: LoaderFacts, slow: SlowRanks) -> tuple[Bound, Level, float | None]:
    if each.judged_steps < THRESHOLDS.needed_steps:
        return "unknown", "unknown", None
    losses = read_losses(slow.judged, slow.late_in_turn)
    return find_bound(losses), find_level(losses.loop), losses.data


def of_run(verdict: Verdict, facts: RunFacts) -> Verdict:
    """The verdict on the judged loader as one on its run: with the hours of all loaders, and with what others cost."""
    own = facts.judged_loader
    if own is None or verdict.bound == "unknown" or len(facts.loaders) < 2:
        return verdict
    others = [each for each in facts.loaders if each is not own]
    lost = (verdict.hours_lost or 0.0) + sum(map(lost_us, others)) / US_PER_HOUR
    found: dict[str, object] = {
        "hours_lost": lost,
        "gpu_hours_lost": None if verdict.gpu_hours_lost is None else lost,
        "hours_used": run_us(facts.loaders) / US_PER_HOUR,
    }
    costly = [each for each in others if each.loop != own.loop and lost_share(each, facts.loaders) >= COSTLY_FRACTION]
    costly.sort(key=lost_us, reverse=True)
    sentences: list[str] = []
    is_of_steps = is_said_of_steps(own.role, loop_share(own, facts.loaders))
    if not is_of_steps:
        found["headline_stall_fraction"] = min(1.0, sum(map(lost_us, facts.loaders)) / run_us(facts.loaders))
    if verdict.bound == "data" and not is_of_steps:
        found |= {"sentence": _of_the_run(own, others, facts), "judged_stall_fraction": None}
    else:
        sentences = [
            _of_one(each, percent(lost_share(each, facts.loaders)), _the_loader(each, facts.loaders)) for each in costly
        ]
    if costly:
        alone = f"Causes and fixes are those of {own.loader}; each loader has a verdict of its own."
        found["why"] = " ".join(filter(None, (verdict.why, *sentences, alone)))
    return verdict.model_copy(update=found)


def is_lost_at_start(verdict: Verdict, facts: RunFacts) -> bool:
    """Whether most of the hours went by before the judged steps, as in a short run whose first batch took long."""
    lost, used, waits = verdict.hours_lost, verdict.hours_used, verdict.data_stall_fraction
    if not lost or not used or waits is None or len(facts.loaders) > 1 or verdict.judged_from_step is not None:
        return False
    if facts.steps > verdict.judged_steps + facts.warmup_steps:
        return False
    copies = verdict.copy_hours_lost or 0.0  # of every step, the judged ones too
    return waits + copies / used < lost / used / 2


@dataclass(frozen=True, slots=True)
class Stall:
    """What a run waits for data, as its verdict says it."""

    of_loaders: Mapping[str, float]
    """Shares of one time, the largest first."""
    is_of_run: bool
    """Of the whole run's time; false: of that of its loop, which takes nearly all of the run."""

    @property
    def fraction(self) -> float:
        return min(1.0, sum(self.of_loaders.values()))


def stall_of(found: Diagnosis) -> Stall | None:
    """``None``: that is not known. Of a run with one loop it is a share of the loop's time, of others of the run's."""
    own = next((line for line in found.loaders if line.loader == found.loader), None)
    is_of_run = own is not None and len(found.loaders) > 1
    is_of_run = is_of_run and own is not None and not is_said_of_steps(own.role, own.share_of_run_fraction)
    lost = {line.loader: line.hours_lost / (found.hours_used or 1.0) for line in found.loaders if line.hours_lost}
    if is_of_run:
        return Stall(_largest_first({found.loader or "": 0.0, **lost}), is_of_run=True) if found.hours_used else None
    mates = [line for line in found.loaders if own is not None and line.loop == own.loop and line is not own]
    shares = {line.loader: line.data_stall_fraction for line in mates if line.data_stall_fraction}
    judged, stated = found.data_stall_fraction, found.stated_stall_fraction
    if judged is None or stated is None:
        return None
    stall = Stall(_largest_first({found.loader or "": judged, **shares}), is_of_run=False)
    if abs(stall.fraction - stated) < NEARLY:
        return stall
    return Stall(_largest_first(lost if len(lost) > 1 else {found.loader or "": stated}), is_of_run=False)


def is_said_of_steps(role: Role, share_of_run: float) -> bool:
    """What is said of the steps with the judged loader is said of the run."""
    return role == "train" and share_of_run >= MOST_OF_RUN


def _largest_first(shares: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(shares.items(), key=lambda one: -one[1]))


LEAST_REST = 0.005
"""Share of the run that goes to waiting for loaders that are not named, from which it is stated."""


def _of_the_run(own: LoaderFacts, others: Sequence[LoaderFacts], facts: RunFacts) -> str:
    """All of the run's waits, as its hours lost have them, and whose they are."""
    costly = [each for each in others if lost_share(each, facts.loaders) >= COSTLY_FRACTION]
    if len(others) == 1 and lost_share(others[0], facts.loaders) >= LEAST_REST:
        costly = [*others]
    named = [own, *sorted(costly, key=lost_us, reverse=True)]
    shares = [lost_share(each, facts.loaders) for each in named]
    whole = min(1.0, sum(map(lost_us, (own, *others))) / run_us(facts.loaders))
    rest = whole - sum(shares)
    if not costly and rest < LEAST_REST:
        return _of_one(own, percent(whole), _a_loader(own, facts.loaders))
    names = [_the_loader(each, facts.loaders) for each in named]
    has_rest = rest >= LEAST_REST
    lost, parts = percents(whole, [*shares, *([rest] if has_rest else [])])
    pairs = zip(parts, [*names, *(["other loaders"] if has_rest else [])], strict=True)
    each = ", ".join(f"{part} for {name}" for part, name in pairs)
    return f"{lost} of the time in the loops goes to waiting for data: {each}."


def _of_one(each: LoaderFacts, share: str, described: str) -> str:
    return f"{share} of the time in the loops goes to waiting for {described}{_with_workers(each)}."


def _a_loader(each: LoaderFacts, loaders: Sequence[LoaderFacts]) -> str:
    return "a validation loader" if each.role == "validation" else _the_loader(each, loaders)


def _the_loader(each: LoaderFacts, loaders: Sequence[LoaderFacts]) -> str:
    noun = {"train": "the training loader", "validation": "the validation loader", "other": "the loader"}[each.role]
    is_only = [one for one in loaders if one.role == each.role and one.steps] == [each] and each.role != "other"
    is_numbered = NUMBERED.fullmatch(each.loader) is not None
    # A number says less than its role.
    if is_numbered and not is_only:
        role = {"train": " (training)", "validation": " (validation)", "other": ""}[each.role]
        return f"{each.loader}{role}"
    return f"{noun} {f'({each.loader})' if is_numbered else each.loader}"


def _with_workers(each: LoaderFacts) -> str:
    number = each.info.num_workers if each.info else None
    if number is None:
        return ""
    return f" with {number} worker{'' if number == 1 else 's'}" if number else " without workers"


def loop_share(each: LoaderFacts, loaders: Sequence[LoaderFacts]) -> float:
    """Of the whole run's time, that in its loop: steps that hold the start of another loader's epoch are not among its
    own."""
    whole_us = run_us(loaders)
    own_us = max(one.spent_us for one in loaders if one.loop == each.loop)
    return own_us / whole_us if whole_us else 0.0


def lost_share(each: LoaderFacts, loaders: Sequence[LoaderFacts]) -> float:
    """Of the whole run's time, what goes to waiting for it."""
    whole_us = run_us(loaders)
    return min(1.0, lost_us(each) / whole_us) if whole_us else 0.0
