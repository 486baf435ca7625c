"""The cheapest number of workers and length of their queues within 2 % of the fastest, found by simulating this run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from underfed_server.advice.capacity import fits, in_flight
from underfed_server.advice.case import Case
from underfed_server.advice.prediction.predict import Predictor
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.causes.few_shards import loading_workers
from underfed_server.diagnosis.thresholds import THRESHOLDS

NUMBERS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64)

MOST_WORKERS = 64
"""Beyond this the round robin of one training thread is the limit (Lotus: gains flatten beyond about 20)."""

WORKERS_A_CORE_WHEN_BLOCKED = 4
"""Workers that mostly sleep, waiting for storage, may outnumber the cores; CPU-bound ones may not."""

SLEEPING_FACTOR = 2
"""They may be twice as many as the run has where it has more than that already: what storage gives to more readers than
that was not seen."""

LONGER_PREFETCH_FACTORS = (4, 8)
"""Twice and four times torch's default of 2: beyond, memory grows and the study saw no further gain."""


def find_setting(case: Case, predictor: Predictor) -> SimulatedSetting | None:
    """Numbers of workers first; longer queues only where these leave something to gain. ``None``: nothing to choose.

    Raises:
        PredictionError: other settings cannot be predicted from this run.
    """
    enough = predictor.ceiling * (1 - THRESHOLDS.cheapest_within_fraction)
    speeds: dict[SimulatedSetting, float] = {}
    for setting in (with_workers(case, number) for number in numbers(case)):
        speeds |= _tried(predictor, [setting] if fits(case, setting) else _shorter(case, setting))
        if setting.num_workers > case.num_workers and max(speeds.values(), default=0.0) >= enough:
            break
    if speeds and max(speeds.values()) < enough:
        near = _nearly_best(case, speeds)
        speeds |= _tried(predictor, [each for setting in near for each in longer(case, setting)])
    return cheapest(speeds)


def cheapest(speeds: dict[SimulatedSetting, float]) -> SimulatedSetting | None:
    """Fewest workers, then fewest batches in flight, of all within 2 % of the best speed; ``None``: there is none."""
    enough = max(speeds.values(), default=0.0) * (1 - THRESHOLDS.cheapest_within_fraction)
    fast = [setting for setting, speed in speeds.items() if speed >= enough]
    return min(fast, key=lambda one: (one.num_workers, in_flight(one)), default=None)


def numbers(case: Case) -> list[int]:
    """Numbers of workers to try instead of the run's own: bounded by its cores, what one loop can feed, and shards."""
    if why_no_workers(case) is not None:
        return []
    limit = shard_limit(case)
    most = most_workers(case) if limit is None else min(limit, most_workers(case))
    return [number for number in NUMBERS if number <= most and number != case.num_workers]


def most_workers(case: Case) -> int:
    """Ranks on one host share its cores. A data set that is not shared out gets no more than it has."""
    usable = (case.facts.host.usable_cores or 1.0) / case.ranks_on_host
    cores = max(1, math.floor(usable))
    most = cores
    if do_workers_sleep(case):
        computing = measures.load_share(case.rank, case.rank.batches.cpu_us) or 0.0
        wanted = max(WORKERS_A_CORE_WHEN_BLOCKED * cores, SLEEPING_FACTOR * case.num_workers)
        most = max(cores, min(wanted, math.floor(usable / max(computing, 0.01))))
    most = min(MOST_WORKERS, most)
    return min(most, max(1, case.num_workers)) if is_unsharded(case) or why_unverifiable(case) else most


def shard_limit(case: Case) -> int | None:
    """Workers beyond which one has nothing to load; ``None``: that is not known, or samples are shared out.

    More shards than its own code says are taken for granted where more workers were seen to load.
    """
    loading, loader = loading_workers(case.rank, case.loader), case.loader
    if case.found("few_shards"):
        return loading
    shards = loader.dataset_shards if loader.takes_whole_shards else None
    return max(shards, loading or 0) if shards else None


def more_than_shards(case: Case) -> list[SimulatedSetting]:
    """More workers than the data set has shards, as far as the run has room for them."""
    limit = shard_limit(case) or 0
    options = [with_workers(case, number) for number in NUMBERS if limit < number <= most_workers(case)]
    return [option for option in options if fits(case, option)]


def do_workers_sleep(case: Case) -> bool:
    """Most of a load they are blocked: they need no core meanwhile."""
    blocked = measures.load_share(case.rank, case.rank.batches.blocked_us) or 0.0
    return blocked >= THRESHOLDS.blocked_fraction


def is_unsharded(case: Case) -> bool:
    """More workers would load the same samples more often: its code says so, or batches that came twice."""
    return case.loader.shards is False or case.found("unsharded_iterable") is not None


def why_no_workers(case: Case) -> str | None:
    """What a run that tunes itself saw in its data set that speaks against workers; ``None``: it has some, or nothing
    was seen."""
    return None if case.num_workers or case.facts.tuned is None else case.facts.tuned.why_no_workers


def may_not_shard(case: Case) -> bool:
    """Nothing shows whether workers would share its records out, or each load them all."""
    return bool(case.loader.is_iterable) and case.loader.shards is None


def why_unverifiable(case: Case) -> str | None:
    """Why the agent would refuse more workers for such a data set; ``None``: it compares two as it applies them."""
    if not may_not_shard(case):
        return None
    if len(case.facts.ranks) > 1:
        return "whether workers share the data set is not known, and is not verified where there are several ranks"
    own = f"set:{case.loader.loader}.num_workers"
    return case.facts.not_measured.get(own, case.facts.not_measured.get("set:num_workers"))


def with_workers(case: Case, number: int) -> SimulatedSetting:
    """As recorded, with so many workers. What needs workers goes with them."""
    recorded = case.recorded
    return replace(recorded, num_workers=number, persistent_workers=recorded.persistent_workers and number > 0)


def _tried(predictor: Predictor, settings: Iterable[SimulatedSetting]) -> dict[SimulatedSetting, float]:
    return {setting: predictor.quick(setting) for setting in settings}


def _nearly_best(case: Case, speeds: dict[SimulatedSetting, float]) -> list[SimulatedSetting]:
    """Settings of which one may be the best with a longer queue. Fewer workers only where they are faster without it:
    a longer queue for the workers that there are is a change of its own.
    """
    enough = max(speeds.values()) / THRESHOLDS.worthwhile_speedup
    near = [
        setting
        for setting, speed in speeds.items()
        if speed >= enough
        and setting.num_workers > 0
        and (setting.num_workers > case.num_workers or speed >= THRESHOLDS.worthwhile_speedup)
    ]
    return sorted(near, key=lambda setting: setting.num_workers)[:3]


def longer_factors(case: Case) -> list[int]:
    return [factor for factor in LONGER_PREFETCH_FACTORS if factor > case.prefetch_factor]


def longer(case: Case, setting: SimulatedSetting) -> list[SimulatedSetting]:
    options = [replace(setting, prefetch_factor=factor) for factor in longer_factors(case)]
    return [option for option in options if fits(case, option)]


def _shorter(case: Case, setting: SimulatedSetting) -> list[SimulatedSetting]:
    """The longest shorter queue that fits, if one does."""
    options = [replace(setting, prefetch_factor=factor) for factor in range(case.prefetch_factor - 1, 0, -1)]
    return [option for option in options if fits(case, option)][:1]
