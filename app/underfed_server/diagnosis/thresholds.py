"""Thresholds that several parts of a verdict share, each with its reason and source.

A threshold of one cause stands in the cause's file, one of one measure beside the measure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thresholds:
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

    minor_cost_fraction: float = 0.02
    """A cause that costs less than this is not worth a line."""

    clearly_larger_factor: float = 1.25
    """Another bound or cause takes the lead of a running run when it costs so many times as much."""

    saturated_cores_fraction: float = 0.90
    """Share of the usable cores in use at which another process no longer finds a free one. 100 % is never read:
    the scheduler migrates, and samples are averages over a second (SageMaker's rule uses 90 % too)."""

    runqueue_fraction: float = 0.15
    """Share of load time that workers were ready to run and no CPU was free. Below it, queueing is ordinary jitter of
    two processes per core; own study: 0–5 % with free cores, 30–50 % with twice as many workers as cores."""

    blocked_fraction: float = 0.50
    """Share of load time spent blocked from which waiting, not computing, is the main part of a load."""

    storage_read_fraction: float = 0.10
    """Of the bytes asked for, the share that reached storage. Below it the page cache serves the reads."""

    many_tensors: int = 8
    """From here on the handshakes of a batch are most of its hand-over (own study: 0.45 ms a tensor; receiving a batch
    of two takes 1.5 ms and more)."""

    cheapest_within_fraction: float = 0.02
    """Of all settings within 2 % of the best speed the cheapest is advised (loadtune's rule)."""

    worthwhile_speedup: float = 1.05
    """A change is advised from 5 %: repeating a measurement moves it by about that much (own study, 4.8 %)."""


THRESHOLDS = Thresholds()
