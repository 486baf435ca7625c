"""The rank that a run is judged by, its wait taken apart, and how much of its loading is still to be explained."""

from __future__ import annotations

from dataclasses import dataclass, replace

from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.loads import Loads, split_loads
from underfed_server.diagnosis.wait import Wait, split_wait
from underfed_server.facts.record import LoaderFacts, RankFacts, RunFacts
from underfed_server.model import Bound, Cause, CauseFinding

OF_LOADING: frozenset[Cause] = frozenset(
    {"memory_pressure", "unsharded_iterable", "storage_wait", "slow_collate", "thread_oversubscription"}
)
"""Causes that explain a share of loading by themselves. What they leave goes to the number of workers and the CPU."""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What a rule looks at. Fractions are of step time."""

    facts: RunFacts
    rank: RankFacts
    bound: Bound
    wait: Wait
    loads: Loads
    loading_left: float
    """Of ``wait.loading``, what no cause has explained yet."""

    @property
    def loader(self) -> LoaderFacts | None:
        return self.facts.loader

    @property
    def workers(self) -> int:
        """0 also where that is not known."""
        return (self.loader.num_workers if self.loader else None) or 0

    def after(self, finding: CauseFinding) -> Judged:
        """With what ``finding`` explains taken away."""
        if finding.cause not in OF_LOADING:
            return self
        return replace(self, loading_left=max(0.0, self.loading_left - finding.cost_fraction))


def examine(facts: RunFacts, rank: RankFacts, bound: Bound, limits: Limits) -> Judged:
    """``rank``: one with judged steps."""
    wait = split_wait(rank, facts.loader, limits)
    loads = split_loads(facts, rank, wait.weights, limits)
    return Judged(facts, rank, bound, wait, loads, wait.loading)
