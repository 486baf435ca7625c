"""What was sampled of loaders as it is served: merged over their ranks once, and kept until one of them sends more."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic_ns

from underfed_server.diagnosis.changed_lines import change_of
from underfed_server.facts.hotspots import hot_lines, loading_in, order_of
from underfed_server.facts.loading import LEAST_SAMPLES, LoaderHotspots
from underfed_server.model import CountedStack, Diagnosis, HotspotsPage, Run, Sampled, StackFrame, Stage
from underfed_server.store.reading.stacks import Place, Samples, Version, read_stacks, read_version
from underfed_server.store.reading.tracks import Reader
from underfed_server.store.store import Store

MOST_STACKS = 2_000
"""In one page. Many ranks together may have been seen in more; the rest is counted."""

MOST_KEPT_BYTES = 32 << 20
"""Of loaders and ranks: those asked for last, each some tens of kilobytes, of dozens of ranks half a megabyte."""

RESTED_RANKS, REST_NS = 8, 5_000_000_000
"""Of so many ranks some have sent more in every second, while a burst comes every five. To merge those of 64 takes
half a second on a loaded machine: that is done again after a while, and once the run has ended at once."""

Of = tuple[str, str, int | None]
"""Run, loader, and rank; ``None``: all."""


@dataclass(frozen=True, slots=True)
class _Kept:
    version: Version
    merged_ns: int
    in_diagnosis: Mapping[str, object]
    """Fields of a diagnosis."""
    pages: Mapping[Sampled, bytes]
    """Encoded."""
    is_known: bool
    """There are shares: why there are none may change without more stacks."""

    @property
    def size_bytes(self) -> int:
        # What a diagnosis shows is in a page, too.
        return 2 * sum(map(len, self.pages.values()))

    def holds(self, version: Version, now_ns: int, *, is_running: bool) -> bool:
        is_resting = is_running and len(version) >= RESTED_RANKS and now_ns - self.merged_ns < REST_NS
        return self.is_known and (self.version == version or is_resting)


class ServedHotspots:
    """Any thread."""

    def __init__(self, clock: Callable[[], int] = monotonic_ns) -> None:
        """``clock``: nanoseconds."""
        self._clock = clock
        self._kept: OrderedDict[Of, _Kept] = OrderedDict()
        self._kept_bytes = 0
        # One at a time: pages that ask at once for the same ones have them merged once.
        self._lock = threading.Lock()

    def added_to(self, store: Store, found: Diagnosis) -> Diagnosis:
        """As sampled by now: they change with every burst, the verdict need not."""
        if found.loader is None:
            return found
        kept = self._of(store, (found.run_id, found.loader, None), is_running=found.status == "running")
        return found.model_copy(update=kept.in_diagnosis)

    def page(self, store: Store, run: Run, loader: str, rank: int | None, of: Sampled) -> bytes:
        """As JSON. ``rank`` ``None``: of all together."""
        kept = self._of(store, (run.run_id, loader, rank), is_running=run.status == "running", why=run.no_loader)
        return kept.pages[of]

    def _of(self, store: Store, place: Of, *, is_running: bool, why: str | None = None) -> _Kept:
        """``why``: there is no loader."""
        with self._lock, store.reading() as reader:
            version, kept, now_ns = read_version(reader.connection, *place), self._kept.get(place), self._clock()
            if kept is None or not kept.holds(version, now_ns, is_running=is_running):
                kept = _merged(reader, place, version, now_ns, why)
            self._keep(place, kept)
        return kept

    def _keep(self, place: Of, kept: _Kept) -> None:
        before = self._kept.pop(place, None)
        self._kept_bytes += kept.size_bytes - (before.size_bytes if before else 0)
        self._kept[place] = kept
        while self._kept_bytes > MOST_KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= oldest.size_bytes


def page_of(
    place: tuple[str, str | None, int | None], of: Sampled, found: LoaderHotspots, why: str | None
) -> HotspotsPage:
    """Of a run, loader and rank. ``why``: there is no loader."""
    (run_id, loader, rank), (places, stacks), lines = place, _numbered(found.samples), hot_lines(found)
    return HotspotsPage(
        run_id=run_id,
        rank=rank,
        loader=loader,
        of=of,
        has_step=found.has_step,
        samples=found.seen,
        hotspots=found.hotspots,
        hot_lines=lines,
        order=order_of(lines),
        change=change_of(found),
        picture_sizes=list(found.picture_sizes),
        agent_fraction=found.agent_fraction,
        frames=[
            StackFrame(function=function, file=file, line=line, is_own=file in found.own_files)
            for function, file, line in places
        ],
        stacks=stacks,
        slow_samples=found.slow_samples,
        missing=why or found.missing,
    )


def _merged(reader: Reader, place: Of, version: Version, now_ns: int, why: str | None) -> _Kept:
    stacks = read_stacks(reader.connection, *place)
    loading, step = loading_in(stacks), loading_in(stacks, "step")
    pages: dict[Sampled, HotspotsPage] = {
        "loading": page_of(place, "loading", loading, why),
        "step": page_of(place, "step", step, why),
    }
    in_diagnosis = {
        "hotspots": loading.hotspots,
        "hot_lines": pages["loading"].hot_lines,
        "slow_samples": loading.slow_samples,
        "looks": loading.seen,
        "step_looks": step.seen,
        "needed_looks": LEAST_SAMPLES,
        "step_hotspots": step.hotspots,
        "step_lines": pages["step"].hot_lines,
        "hot_order": pages["loading"].order,
        "step_order": pages["step"].order,
        "hot_change": pages["loading"].change,
        "step_change": pages["step"].change,
        "agent_fraction": loading.agent_fraction,
    }
    encoded = {of: page.model_dump_json().encode() for of, page in pages.items()}
    return _Kept(version, now_ns, in_diagnosis, encoded, is_known=loading.missing is None)


def _numbered(samples: Samples) -> tuple[list[Place], list[CountedStack]]:
    """Each place once, and stacks by the places of theirs; those that were seen most often first."""
    numbers: dict[Place, int] = {}
    counts = ((stack, int(looks.sum())) for stack, looks in samples.items())
    often = sorted(counts, key=lambda item: -item[1])
    stacks = [
        CountedStack(stage=stage, frames=[numbers.setdefault(place, len(numbers)) for place in places], samples=count)
        for (stage, places), count in often[:MOST_STACKS]
    ]
    left = Counter[Stage]()
    for (stage, _), count in often[MOST_STACKS:]:
        left[stage] += count
    stacks += (CountedStack(stage=stage, frames=[], samples=count) for stage, count in left.items())
    return [*numbers], stacks
