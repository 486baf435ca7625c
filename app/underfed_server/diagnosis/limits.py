"""Every threshold of the verdict, with its reason and source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Fractions are of step time unless the name says otherwise."""

    warmup_steps: int = 5
    """First steps of a run, kept but not judged: lazy imports in the workers, allocator and kernel warm-up.
    MLPerf Storage leaves out the first; with workers a handful start cold (first batch 35–200 ms late, own study)."""

    needed_steps: int = 20
    """CONTRACT: a verdict needs at least 20 judged steps."""

    judged_steps: int = 2_000
    """The newest steps that a verdict looks at: minutes to an hour of training, so that it follows a change."""

    watch_fraction: float = 0.05
    """XProf calls a run input-bound from 5 % of step time."""

    limited_fraction: float = 0.10
    """TraceML warns of an input-bound run from 10 %; from here on the run is called data-bound."""

    bound_fraction: float = 0.20
    """XProf calls a run highly input-bound, and TraceML critical, from 20 % of step time."""

    busy_workers_fraction: float = 0.85
    """Workers that load this share of the time have no slack: bursts already make the loop wait."""

    saturated_cores_fraction: float = 0.90
    """Share of the usable cores in use at which another process no longer finds a free one. 100 % is never read:
    the scheduler migrates, and samples are averages over a second (SageMaker's rule uses 90 % too)."""

    shared_cores_fraction: float = 0.10
    """Share of the usable cores from which loading is told to take them from training: the training can gain no more
    than that by cheaper loading."""

    runqueue_fraction: float = 0.15
    """Share of load time that workers were ready and no CPU was free. Below it, queueing is ordinary jitter of
    two processes per core; own study: 0–5 % with free cores, 30–50 % with twice as many workers as cores."""

    blocked_fraction: float = 0.50
    """Share of load time spent blocked from which waiting, not computing, is the main part of a load."""

    storage_read_fraction: float = 0.10
    """Of the bytes asked for, the share that really reached storage. Below it the page cache serves the reads."""

    minor_cost_fraction: float = 0.02
    """A cause that costs less than this is not worth a line."""

    high_confidence_steps: int = 200
    medium_confidence_steps: int = 50
    """The mean wait of 200 steps is known to about ±5 % at a spread of 70 % between steps; of 50, to ±10 %."""

    cheapest_within_fraction: float = 0.02
    """Of all settings within 2 % of the best speed the cheapest is advised (loadtune's rule)."""

    worthwhile_speedup: float = 1.05
    """A change is advised from 5 %: repeating a measurement moves it by about that much (own study, 4.8 %)."""


LIMITS = Limits()
