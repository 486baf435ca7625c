"""The ranks that a change concerns together: they share a host's cores, and may wait for each other in each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from underfed_server.advice.prediction.simulate import Batch, Cores
from underfed_server.facts.lockstep import Lockstep
from underfed_server.facts.record import RankFacts

MOST_ON_HOST = 2
"""Ranks are alike: so many, on their share of the cores, go as all do."""

MOST_IN_STEP = 4
"""Of ranks that wait for each other, each of these stands for several."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    on_host: int = 1
    """With the judged one."""
    others_cores: float = 0.0
    """What the other ranks on its host used: they get the change, too, and are simulated instead."""
    mates: tuple[RankFacts, ...] = ()
    """Those others."""
    together: Lockstep | None = None
    """Of the whole job, where its ranks are late in turn."""

    @property
    def is_in_step(self) -> bool:
        return self.together is not None

    @property
    def simulated(self) -> int:
        return min(MOST_IN_STEP, self.together.ranks) if self.together else min(MOST_ON_HOST, self.on_host)

    @property
    def part(self) -> float:
        """Of the host's cores, that of the simulated ranks."""
        return self.simulated / self.on_host

    def share(self, cores: Cores) -> Cores:
        """Of those on the host, what the simulated ranks may use."""
        part = self.part

        def slowdown(busy: float) -> float:
            return cores.slowdown(busy / part)

        others = max(0.0, cores.others - self.others_cores)
        return Cores(cores.usable * part, slowdown, others * part) if part != 1 else replace(cores, others=others)

    def slowest(self, batches: Sequence[Batch]) -> tuple[Batch, ...]:
        """Where each simulated rank stands for several that wait for each other, the slowest of their batches.

        What a slow one takes longer holds the others up and takes nothing of their cores: it counts as blocked.
        """
        stands_for = 1 if self.together is None else round(self.together.ranks / self.simulated)
        if stands_for <= 1:
            return tuple(batches)
        loads = np.array([each.cpu_us + each.blocked_us for each in batches])
        sampled = np.random.default_rng(len(loads)).integers(len(loads), size=(len(loads), stands_for - 1))
        longest = np.maximum(loads, loads[sampled].max(axis=1))
        return tuple(
            replace(each, blocked_us=each.blocked_us + float(more))
            for each, more in zip(batches, longest - loads, strict=True)
        )


ALONE = Ranks()
