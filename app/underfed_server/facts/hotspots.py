"""Where loading spends its time: the functions and lines that its threads were seen in, with their shares."""

from __future__ import annotations

from collections import Counter

from underfed_server.facts.loading import LEAST_SAMPLES, LoaderHotspots
from underfed_server.model import Hotspot, Stage
from underfed_server.store.reading.stacks import LoaderStacks, Place, Samples, read_stacks
from underfed_server.store.store import Store

LEAST_FRACTION = 0.005
MOST_HOTSPOTS = 100

NO_WORKERS = "it has no workers, and the process that trains is not sampled"


def read_hotspots(store: Store, run_id: str, loader: str | None, rank: int | None = None) -> LoaderHotspots:
    """``rank`` ``None``: of all ranks together."""
    if loader is None:
        return LoaderHotspots([], "no step was recorded yet", [], {})
    with store.reading() as reader:
        found = read_stacks(reader.connection, run_id, loader, rank)
    return LoaderHotspots(
        hotspots_of(found.samples), _why_none(found), list(found.slow_samples), found.samples, found.own_files
    )


def hotspots_of(samples: Samples) -> list[Hotspot]:
    """Those that most loading is in first, whatever they call included; of two alike, the caller first. None where too
    little was seen."""
    seen = sum(samples.values())
    if seen < LEAST_SAMPLES:
        return []
    own: Counter[tuple[Stage, Place]] = Counter()
    total: Counter[tuple[Stage, Place]] = Counter()
    for (stage, places), count in samples.items():
        for place in dict.fromkeys(places):  # one that calls itself counts once
            total[stage, place] += count
        if places:
            own[stage, places[-1]] += count
    found = [
        Hotspot(
            function=place[0], file=place[1], line=place[2], stage=stage,
            self_fraction=round(own[stage, place] / seen, 4), total_fraction=round(count / seen, 4),
        )
        for (stage, place), count in total.most_common()
        if count >= LEAST_FRACTION * seen
    ]  # fmt: skip
    return found[:MOST_HOTSPOTS]


def _why_none(found: LoaderStacks) -> str | None:
    seen = sum(found.samples.values())
    if seen >= LEAST_SAMPLES:
        return None
    if found.reason is not None:
        return found.reason
    if not seen and found.num_workers == 0:
        return NO_WORKERS
    return f"its loading was sampled {seen} times, {LEAST_SAMPLES} are needed"
