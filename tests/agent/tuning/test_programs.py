"""Whatever way a program reads its loaders: with workers of ours it sees the same, and draws the same."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import pytest
from torch.utils.data import DataLoader

import underfed
from tests.agent.tuning.programs import Program, Seen, seed_all
from tests.agent.tuning.switching_plans import Plan, tuned
from underfed.trainer import control

PROGRAMS = 6


def difference(one: Seen, other: Seen) -> str | None:
    """The first place alone: whole lists take minutes to be compared."""
    pairs = list(zip(one, other, strict=False))
    place = next((place for place, (mine, yours) in enumerate(pairs) if mine != yours), None)
    if place is None:
        return None if len(one) == len(other) else f"{len(one)} and {len(other)} things"
    return f"at {place}: {one[max(0, place - 2) : place + 2]} and {other[max(0, place - 2) : place + 2]}"


def check(seeds: range) -> int:
    """Returns how often they switched."""
    underfed.finish()  # a tuner would take a plain loader for its own
    control._state.tuner = None
    plain = {seed: seen(seed, Plan(None), lambda _: None) for seed in seeds}
    plans = {seed: Plan(random.Random(seed), chance=0.4) for seed in seeds}
    for seed in seeds:
        found = difference(plain[seed], seen(seed, plans[seed], tuned))
        assert found is None, f"program {seed}: {found}"
    return sum(plan.switches for plan in plans.values())


def seen(seed: int, plan: Plan, watch: Callable[[DataLoader[Any]], object]) -> Seen:
    gc.collect()  # no iterator of the program before that a forked process could end
    seed_all(seed)
    return Program(seed, plan).run(watch)


@pytest.mark.long
def test_any_program_sees_the_same_with_workers_of_ours() -> None:
    assert check(range(PROGRAMS)) > PROGRAMS


@pytest.mark.soak(passes=1, of=1)
def test_a_thousand_programs_see_the_same_with_workers_of_ours() -> None:
    assert check(range(PROGRAMS, PROGRAMS + 1000)) > 1000
