"""``/runs/{run_id}/hotspots``: what loading threads, or the training thread, were seen to execute, and slow samples."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Query

from underfed_server.api.dependencies import ALLOWED, MOST_RANK, LoaderQuery, StoreDep, choose
from underfed_server.facts.hotspots import hot_lines, read_hotspots
from underfed_server.model import CountedStack, HotspotsPage, Sampled, StackFrame, Stage
from underfed_server.store.reading.stacks import Place, Samples

router = APIRouter(tags=["runs"], dependencies=ALLOWED)

MOST_STACKS = 2_000
"""In one page. Many ranks together may have been seen in more; the rest is counted."""

OneRankQuery = Annotated[int | None, Query(ge=0, le=MOST_RANK, description="Default: all ranks together")]


@router.get("/runs/{run_id}/hotspots")
def hotspots(
    run_id: str,
    store: StoreDep,
    rank: OneRankQuery = None,
    loader: LoaderQuery = None,
    of: Annotated[Sampled, Query(description="`step`: the training thread between batches (`--profile`)")] = "loading",
) -> HotspotsPage:
    """Functions and lines with their shares of loading, the stacks that they were found in, and the slowest samples."""
    run, _, name = choose(store, run_id, rank, loader)
    found = read_hotspots(store, run_id, name, rank, of)
    places, stacks = _numbered(found.samples)
    return HotspotsPage(
        run_id=run_id,
        rank=rank,
        loader=name,
        of=of,
        has_step=found.has_step,
        samples=found.seen,
        hotspots=found.hotspots,
        hot_lines=hot_lines(found),
        picture_sizes=list(found.picture_sizes),
        agent_fraction=found.agent_fraction,
        frames=[
            StackFrame(function=function, file=file, line=line, is_own=file in found.own_files)
            for function, file, line in places
        ],
        stacks=stacks,
        slow_samples=found.slow_samples,
        missing=run.no_loader or found.missing,
    )


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
