"""Training loops with several candidates, of random speeds and noise: how close the search comes to the best of them.

``python -m tests.agent.tuning.worlds`` prints it for three lengths of a search.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.agent.tuning.training_loop import Loop
from underfed.trainer.tuning.loader_setting import LoaderSetting

BUDGETS = (100, 500, 2000)
"""Steps for trials."""

WARM_UP = 40
"""Steps before a search, about."""

SETTINGS = [LoaderSetting(0)] + [LoaderSetting(count, each) for count in (1, 2, 3, 4, 6) for each in (2, 4)]


@dataclass(frozen=True, slots=True)
class World:
    """Of one host and one program."""

    step_ms: dict[LoaderSetting, float]
    """Of the setting in use first, and of the candidates."""
    work_ms: float
    noise: float
    """Of a step, as a share of it."""
    drift: float
    """By which the host is slower or faster for some dozen steps."""

    def of(self, setting: LoaderSetting) -> float:
        """A shorter queue than a candidate's is as fast."""
        longer = (step for each, step in self.step_ms.items() if each.num_workers == setting.num_workers)
        return self.step_ms[setting] if setting in self.step_ms else next(longer)


@dataclass(frozen=True, slots=True)
class Outcome:
    regret: float
    """Speed of what was kept, as a share of that of the best setting."""
    steps: int
    """That the searches used."""
    is_kept: bool
    reached: float
    """Share of the candidates that were measured."""


def any_world(choose: random.Random, *, is_hopeless: bool = False) -> World:
    """``is_hopeless``: no candidate is faster than what is in use."""
    count = choose.choice([3, 4, 4, 5])
    settings = choose.sample(SETTINGS, count + 1)
    work = choose.choice([2.0, 8.0, 30.0, 120.0])
    load = work * choose.uniform(1.2, 6.0)
    cores = choose.choice([2, 3, 4, 8])
    step = {each: _step_ms(each, work, load, cores) * choose.uniform(0.92, 1.08) for each in settings}
    first = settings[0]
    if is_hopeless:
        slower = {each: max(one, step[first] * choose.choice([1.0, 1.0, 1.02, 1.2])) for each, one in step.items()}
        step = {**slower, first: step[first]}
    return World(step, min(work, 0.8 * min(step.values())), choose.uniform(0.02, 0.15), choose.choice([0, 0.02, 0.05]))


def _step_ms(setting: LoaderSetting, work: float, load: float, cores: int) -> float:
    """Loading without workers comes on top of the work; with them at most the cores load at once, and compete."""
    if not setting.num_workers:
        return work + load
    at_once = min(setting.num_workers, cores)
    slowdown = 1 + 0.04 * max(0, setting.num_workers - cores)
    return max(work, load / at_once * slowdown)


def outcome(world: World, most_steps: int, seed: int) -> Outcome:
    first, *others = world.step_ms
    promise = random.Random(seed)
    others.sort(key=lambda each: world.step_ms[each] * promise.uniform(0.7, 1.4))
    loop = Loop(
        {each: world.of(each) - world.work_ms for each in [first, *_with_any_queue(others)]},
        work_ms=world.work_ms,
        step_noise=world.noise,
        drift=world.drift,
        candidates=[_candidate(each) for each in others],
        most_steps=most_steps,
        random=random.Random(seed),
    )
    while not (loop.conductor.searches and not loop.conductor.is_searching) and loop.step < 3 * most_steps + 500:
        loop.run(1)
    best = min(world.step_ms.values())
    searches = loop.conductor.searches
    trials = searches[0].trials[1:] if searches else []
    return Outcome(
        best / world.of(loop.in_use),
        sum(search.used_steps for search in searches),
        loop.in_use != first,
        sum(1 for trial in trials if trial.blocks) / len(trials) if trials else 0.0,
    )


def _with_any_queue(settings: Sequence[LoaderSetting]) -> Iterator[LoaderSetting]:
    """A candidate is tried with a queue that is short enough for the steps."""
    for each in settings:
        yield each
        yield from (replace(each, prefetch_factor=factor) for factor in range(1, each.prefetch_factor or 0))


def _candidate(setting: LoaderSetting) -> dict[str, Any]:
    settings = {"num_workers": setting.num_workers, "prefetch_factor": setting.prefetch_factor}
    return {"settings": {name: value for name, value in settings.items() if value is not None}}


def outcomes(worlds: int, most_steps: int, *, is_hopeless: bool = False) -> list[Outcome]:
    choose = [random.Random(seed) for seed in range(worlds)]
    return [outcome(any_world(each, is_hopeless=is_hopeless), most_steps, seed) for seed, each in enumerate(choose)]


def table(worlds: int) -> Iterator[str]:
    yield "steps  speed/best mean  p10   within 5 %  reached  used   kept though nothing helps"
    for budget in BUDGETS:
        found, hopeless = outcomes(worlds, budget), outcomes(worlds, budget, is_hopeless=True)
        shares = sorted(each.regret for each in found)
        yield (
            f"{budget:5}  {statistics.fmean(shares):15.3f}  {shares[len(shares) // 10]:.3f}  "
            f"{sum(each >= 0.95 for each in shares) / worlds:9.0%}  "
            f"{statistics.fmean(each.reached for each in found):7.0%}  "
            f"{statistics.fmean(each.steps for each in found):5.0f}  "
            f"{sum(each.is_kept for each in hopeless)} of {worlds}"
        )


if __name__ == "__main__":
    print(*table(300), sep="\n")
