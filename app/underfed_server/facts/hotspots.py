"""Where loading spends its time: the functions and lines that its threads were seen in, with their shares. And, where
it was sampled, what the training thread does between its batches."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from itertools import takewhile
from typing import TypeVar

from underfed_server.facts.callers import Chain, callers_of, chain_to
from underfed_server.facts.costly_lines import Reached, costly_lines, name_of
from underfed_server.facts.loading import LEAST_SAMPLES, Lines, LoaderHotspots, looks_in
from underfed_server.facts.share_of_looks import Whole, whole_of
from underfed_server.model import Caller, HotLine, Hotspot, Sampled, Stage
from underfed_server.store.reading.stacks import LoaderStacks, Looks, Place, Samples, none_seen, read_stacks
from underfed_server.store.store import Store

LEAST_FRACTION = 0.005
MOST_HOTSPOTS = 100
MOST_LINES = 20

TWO = 2

NO_WORKERS = "it has no workers, and the process that trains is sampled with --profile alone"
NO_PROFILE = "the training thread is sampled with --profile alone"

Key = TypeVar("Key", bound=Hashable)


def read_hotspots(
    store: Store, run_id: str, loader: str | None, rank: int | None = None, of: Sampled = "loading"
) -> LoaderHotspots:
    """``rank`` ``None``: of all ranks together."""
    if loader is None:
        return LoaderHotspots([], "no step was recorded yet", [], {})
    with store.reading() as reader:
        return loading_in(read_stacks(reader.connection, run_id, loader, rank), of)


def loading_in(found: LoaderStacks, of: Sampled = "loading") -> LoaderHotspots:
    is_loading = of == "loading"
    samples = found.loading if is_loading else found.step
    return LoaderHotspots(
        hotspots_of(samples, found.own_files, found.lines), _why_none(found, of),
        list(found.slow_samples) if is_loading else [],
        samples, found.own_files, bool(found.step), found.picture_sizes if is_loading else (), _of_agent(found),
        found.lines, _of_kind(found.earlier, is_loading=is_loading), _of_kind(found.later, is_loading=is_loading),
    )  # fmt: skip


def _of_kind(samples: Samples, *, is_loading: bool) -> Samples:
    return {key: looks for key, looks in samples.items() if (key[0] != "step") == is_loading}


def _of_agent(found: LoaderStacks) -> float | None:
    looks = found.agent_samples + looks_in(found.loading) + looks_in(found.step)
    return found.agent_samples / looks if looks else None


def hotspots_of(samples: Samples, own_files: Set[str], lines: Mapping[Place, Lines] | None = None) -> list[Hotspot]:
    """Those that most loading is in first, whatever they call included; of two alike, the caller first. None where too
    little was seen."""
    if looks_in(samples) < LEAST_SAMPLES:
        return []
    whole = whole_of(samples.values())
    own, total = counted(samples, lambda place: place)
    chains = _chains_of(samples, own_files)
    often = [key for key in most_first(total) if whole.share(total[key]) >= LEAST_FRACTION][:MOST_HOTSPOTS]
    margins = zip(whole.margins([own[key] for key in often]), whole.margins([total[key] for key in often]), strict=True)
    return [
        Hotspot(
            function=place[0], file=place[1], line=place[2], stage=stage, is_own=place[1] in own_files,
            self_fraction=_rounded(whole.share(own[stage, place])),
            self_margin_fraction=of_own,
            total_fraction=_rounded(whole.share(total[stage, place])),
            total_margin_fraction=of_total,
            callers=_callers(chains[stage, place], whole),
            lines=(lines or {}).get(place),
        )
        for (stage, place), (of_own, of_total) in zip(often, margins, strict=True)
    ]  # fmt: skip


def hot_lines(loading: LoaderHotspots) -> list[HotLine]:
    """Most first."""
    return [
        HotLine(
            function=line.function, file=line.file, line=line.line, called=line.called,
            fraction=_rounded(line.fraction), margin_fraction=line.margin_fraction, sentence=str(line),
            callers=[*map(_caller, line.callers)], lines=line.lines,
        )
        for line in costly_lines(loading, most=MOST_LINES)
        if line.fraction >= LEAST_FRACTION
    ]  # fmt: skip


def order_of(lines: Sequence[HotLine]) -> str | None:
    """Whether the first of these lines, most first, is known to take most: a sentence where others may be larger."""
    if not lines or (first := lines[0]).margin_fraction is None:
        return None
    margin = first.margin_fraction

    def may_be_larger(line: HotLine) -> bool:
        return first.fraction - line.fraction < math.hypot(margin, line.margin_fraction or 0.0)

    count = 1 + sum(1 for _ in takewhile(may_be_larger, lines[1:]))
    if count < TWO:
        return None
    which = (
        "Either of the first two may be the larger" if count == TWO else f"Any of the first {count} may be the largest"
    )
    return f"{which}: by their margins they cannot be told apart."


def _chains_of(samples: Samples, own_files: Set[str]) -> Mapping[tuple[Stage, Place], Mapping[Chain, Looks]]:
    """By stage and place in which time is spent itself: through which places it is reached."""
    found: dict[tuple[Stage, Place], dict[Chain, Looks]] = defaultdict(lambda: defaultdict(none_seen))
    for (stage, places), looks in samples.items():
        if places:
            found[stage, places[-1]][chain_to(places, len(places) - 1, own_files)] += looks
    return found


def _callers(chains: Mapping[Chain, Looks], whole: Whole) -> list[Caller]:
    return [_caller(Reached(place, whole.share(part), whole.margin(part))) for place, part in callers_of(chains)]


def _rounded(fraction: float) -> float:
    """So that it is rounded to per cent as the share itself is, in an evidence or a sentence."""
    return round(fraction, 8)


def _caller(reached: Reached) -> Caller:
    (function, file, line), fraction, margin = reached
    return Caller(
        function=function, file=file, line=line, fraction=_rounded(fraction), margin_fraction=margin,
        sentence=name_of(reached.place),
    )  # fmt: skip


def counted(
    samples: Samples, key: Callable[[Place], Key]
) -> tuple[dict[tuple[Stage, Key], Looks], dict[tuple[Stage, Key], Looks]]:
    """By stage and ``key`` of a place: how often it was seen itself, and how often with what it calls."""
    own: dict[tuple[Stage, Key], Looks] = defaultdict(none_seen)
    total: dict[tuple[Stage, Key], Looks] = defaultdict(none_seen)
    for (stage, places), looks in samples.items():
        for each in dict.fromkeys(map(key, places)):  # one that calls itself counts once
            total[stage, each] += looks
        if places:
            own[stage, key(places[-1])] += looks
    return own, total


def most_first(counts: Mapping[Key, Looks]) -> list[Key]:
    return sorted(counts, key=lambda key: -int(counts[key].sum()))


def _why_none(found: LoaderStacks, of: Sampled) -> str | None:
    seen = looks_in(found.loading if of == "loading" else found.step)
    if seen >= LEAST_SAMPLES:
        return None
    if of == "step":
        return f"{_looks_at(seen)} its thread, {LEAST_SAMPLES} are needed" if seen else NO_PROFILE
    if found.reason is not None:
        return found.reason
    if not seen and found.num_workers == 0:
        return NO_WORKERS
    return f"{_looks_at(seen)} its loading, {LEAST_SAMPLES} are needed"


def _looks_at(seen: int) -> str:
    return "1 look at" if seen == 1 else f"{seen or 'no'} looks at"
