"""What a program does between batches that is no training, in words: each finding in short, and at length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from underfed_server.diagnosis.between_batches import WORKS, KnownWork
from underfed_server.diagnosis.own_work import OwnWork, least_share, own_works
from underfed_server.diagnosis.rounded import percent, points
from underfed_server.facts.costly_lines import IsMeant, costliest_line, share_of
from underfed_server.facts.loading import LoaderHotspots
from underfed_server.facts.record import RankFacts

LOOKS = "Of the looks at the training thread between batches"

OUTSIDE = "outside the model, its gradients and the optimizer"


@dataclass(frozen=True, slots=True)
class WorkBesideTraining:
    of_loop: float
    """Share of the loop's time."""
    short: str
    """A sentence."""
    full: str
    """With what is usual against it."""


def between_fraction(rank: RankFacts) -> float:
    """Of the loop's time, that between batches."""
    return max(0.0, rank.rest_us / rank.step_us)


def found_beside_training(rank: RankFacts, between: LoaderHotspots | None) -> list[WorkBesideTraining]:
    """Most of the loop's time first."""
    if between is None:
        return []
    own = own_works(between, between_fraction(rank))
    works = [*map(_own, own), *_known(rank, between, own)]
    return sorted(works, key=lambda each: -each.of_loop)


def _own(work: OwnWork) -> WorkBesideTraining:
    takes = f"{work}, takes {percent(work.of_loop)} of this loop's time"
    known = work.share.margin_fraction
    share = f"{percent(work.share.fraction)}{'' if known is None else f' {points(known)}'}"
    found = f"{share} of the looks at the training thread between batches found it there"
    most = "" if work.line is None else f", most often in {work.line}"
    also = (f" It was seen {each.found_it} there. The usual remedy: {each.usual}" for each in work.works)
    return WorkBesideTraining(
        work.of_loop,
        f"{takes}: {OUTSIDE}.",
        f"{takes}, {OUTSIDE}: {found}{most}.{''.join(also)}",
    )


def _known(rank: RankFacts, between: LoaderHotspots, own: Sequence[OwnWork]) -> Iterator[WorkBesideTraining]:
    """Work of a known kind, wherever it is done; not what is named with a function."""
    of_loop = between_fraction(rank)
    for work in WORKS:
        is_meant = work.within(between)
        share, line = share_of(between, is_meant) or 0.0, costliest_line(between, is_meant)
        if share >= least_share(of_loop) and not _is_within(work, is_meant, share, between, own):
            found = f"{LOOKS}, {percent(share)} found it {work.found_it}, most often in {line}"
            yield WorkBesideTraining(share * of_loop, f"{found}.", f"{found}. The usual remedy: {work.usual}")


def _is_within(
    work: KnownWork, is_meant: IsMeant, share: float, between: LoaderHotspots, own: Sequence[OwnWork]
) -> bool:
    """Most of it is done in functions that are named, with this work."""
    names = {each.name for each in own if work in each.works}
    inside = share_of(
        between, lambda stage, places: is_meant(stage, places) and any(name in names for name, _file, _line in places)
    )
    return (inside or 0.0) >= share / 2
