"""Do the costliest work of loading in a cheaper way, at the line where it was seen."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from underfed_server.advice.case import Case, cures
from underfed_server.advice.change import Change
from underfed_server.advice.known_costs import CONVERTS, KNOWN_COSTS, RESIZES, KnownCost, copies_at, decoded_at
from underfed_server.advice.offer import Offer, is_worthwhile
from underfed_server.advice.shares import factor_without
from underfed_server.advice.sketches import in_collate
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.costly_evidence import CALLERS, LOOKS
from underfed_server.diagnosis.instant_data import Ceiling
from underfed_server.diagnosis.rounded import percent
from underfed_server.diagnosis.slowest_samples import files_alike, named, slowest, took
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.costly_lines import (
    CostlyLine,
    IsMeant,
    KnownShare,
    costliest_line,
    costly_lines,
    known_share_of,
    name_of,
    share_of,
)
from underfed_server.facts.loading import LoaderHotspots, Place
from underfed_server.facts.reduced_decoding import Reduction, are_known, become_smaller, reduction_of
from underfed_server.model import Evidence, Stage

LEAST_SHARE = 0.10
"""Of loading. A share is known to some five points either way: of less, whether it is worth a line is not known."""

LEAST_SHARE_OF_ANY = 0.25
"""Of loading, in one line for which no cheaper way is known: of less, several lines would have to change."""

MOST_OFFERED = 3

MOST_LINES = 20
"""With work of one kind."""


class Said(NamedTuple):
    name: str
    title: str
    why: str
    write: str
    risk: str
    evidence: tuple[Evidence, ...] = ()


ANY = Said(
    "precomputing",
    "Make the costliest call cheaper",
    "No cheaper way of it is known. If its result is the same in every epoch, it can be computed once; what is random "
    "cannot, but may be done to a whole batch with one call.",
    """\
 class YourDataset(Dataset):
+    def __init__(self, samples):  # only what has nothing random in it
+        self.prepared = [the_call(sample) for sample in samples]  # or files, if large
     def __getitem__(self, index):
-        return the_call(self.samples[index])
+        return self.prepared[index]
 # What is random: left out of the data set, and done in collate_fn or in the training loop, to the whole batch.""",
    "A change of code: compare a batch of each.",
)

ANY_RANDOM = Said(
    ANY.name,
    ANY.title,
    "No cheaper way of it is known. Random numbers are drawn beside it: what depends on them cannot be computed once, "
    "but may be done to a whole batch with one call; the rest can be computed once, before training.",
    f" # the_call: of a whole batch, in place of what the data set does\n"
    f"{in_collate('the_call', 2, 'values of samples, not one number each')}",
    "Random numbers have to be drawn for each sample of a batch.",
)

DRAWS = re.compile(r"[Rr]andom|\brand(n|int|perm|range)?\b|\b(uniform|gauss|shuffle|choices?|permutation)\b")
"""Names of functions that draw random numbers, of NumPy, torch and Python, and of transforms that do."""


WRITE_SLOW = """\
 # Once, before training: write the samples in the list of slow ones anew, at the size that is used,
 # uncompressed, or split into parts that take about as long as other samples.
 # Or leave them out while you look whether they matter:
+skipped = set()  # their indices
+dataset = torch.utils.data.Subset(dataset, [i for i in range(len(dataset)) if i not in skipped])"""


def consider(case: Case) -> list[Offer]:
    """Those that could save most of loading first, by what was seen; none where too little of it was seen."""
    loading = case.facts.loading
    if loading is None or not case.waits_for_data:
        return []
    leading = next(each for each in case.verdict.causes if cures(case.change, each))
    if leading.cause == "slow_samples":
        # What most samples take long for holds none of them up.
        return list(_slow_samples(case, loading, leading.cost_fraction))
    covered: set[CostlyLine] = set()
    known = [*_known(case, loading, covered)]
    found = sorted([*known, *_any_line(case, loading, covered)], key=lambda found: -found[0])
    return [offer for _share, offer in found[:MOST_OFFERED]]


def _known(case: Case, loading: LoaderHotspots, covered: set[CostlyLine]) -> Iterator[tuple[float, Offer]]:
    """With what each could save of loading at least. ``covered``: lines that one of these is about; they are added."""
    places = {place for _stage, stack in loading.samples for place in stack}
    for cost in KNOWN_COSTS:
        is_meant = cost.within(loading, places) if _applies(cost, case) else None
        if is_meant is None:
            continue
        share, line = known_share_of(loading, is_meant), costliest_line(loading, is_meant)
        if share is None or share.fraction < LEAST_SHARE or line is None or line in covered:
            continue
        covered.add(line)
        if cost.needs_smaller_use and _is_made_smaller(loading, places):
            continue
        follows = _follows(cost, loading, is_meant)
        takes = _takes(line, share.fraction, costly_lines(loading, is_meant, most=MOST_LINES))
        offer = _offer(case, loading, line, share, _said(cost, loading), takes, _left_out(follows))
        if offer is not None:
            yield _at_least(share) + _shrinks(cost, loading) * follows, offer


def _at_least(share: KnownShare) -> float:
    """So that what is known badly does not come before what is known well. Below 0, too: of two such shares one is
    larger."""
    return share.fraction - (share.margin_fraction or 0.0)


def _follows(cost: KnownCost, loading: LoaderHotspots, is_meant: IsMeant) -> float:
    """Share of loading that takes less as well, and has no part in the ceiling: what is left of it depends on what
    pictures are made."""
    if not cost.shrinks:
        return 0.0

    def follows(stage: Stage, stack: tuple[Place, ...]) -> bool:
        named = (f"{name} {file}" for name, file, _line in stack)
        return not is_meant(stage, stack) and any(RESIZES.search(text) or CONVERTS.search(text) for text in named)

    return share_of(loading, follows) or 0.0


def _shrinks(cost: KnownCost, loading: LoaderHotspots) -> float:
    """The part that is saved of work on each pixel as decoded, by the sizes that were seen; 0 where these were not."""
    reduction = reduction_of(loading.picture_sizes) if cost.shrinks else None
    return 0.0 if reduction is None else 1 - 1 / reduction.by**2


def _takes(line: CostlyLine, share: float, lines: Sequence[CostlyLine]) -> str:
    """Whose the share is: that of all lines with such work, of which the advice names the costliest."""
    if percent(share) == percent(line.fraction):
        return "this takes"
    others = len({one.at for one in lines} - {line.at})
    if not others:
        return "this line takes with all such calls"
    return f"this line and {'another one' if others == 1 else f'{others} others'} with such work take together"


def _left_out(share: float) -> str:
    if share < LEAST_SHARE:
        return ""
    return f". Resizing and converting a smaller picture, {percent(share)} of loading now, takes less, too: not counted"


def _said(cost: KnownCost, loading: LoaderHotspots) -> Said:
    reduction = reduction_of(loading.picture_sizes) if cost.shrinks else None
    if reduction is None:
        return Said(cost.name, cost.title, cost.why, f"{_written(cost, loading)}\n # {cost.source}", cost.risk)
    return _measured(cost, reduction)


def _written(cost: KnownCost, loading: LoaderHotspots) -> str:
    """With the size that was seen to be used most often."""
    sizes = loading.picture_sizes
    if not cost.needs_smaller_use or not are_known(sizes):
        return cost.write
    most = max(sizes, key=lambda size: size.count)
    return copies_at(f"{most.used_width}, {most.used_height}")


def _measured(cost: KnownCost, reduction: Reduction) -> Said:
    by, most = reduction.by, reduction.most
    decoded, used = _pixels(most.decoded_width, most.decoded_height), _pixels(most.used_width, most.used_height)
    left = _pixels(most.decoded_width // by, most.decoded_height // by)
    written = decoded_at(f"{most.used_width}, {most.used_height}", by)
    why = (
        f"Decoded at {decoded}, used at {used}: 1/{by} as wide and high as decoded now ({left}) is enough. Draft mode "
        "decodes a JPEG at the smallest scale that is not below the size asked for, for a fraction of the work. Copies "
        "of the pictures that are resized once, before training, save most of the rest."
    )
    evidence = (
        Evidence(what=f"Looks at resizing {decoded} to {used}", value=most.count, unit="count"),
        Evidence(what=f"Of looks at resizing, to 1/{by} or less", value=reduction.fraction, unit="fraction"),
    )
    return Said(cost.name, cost.title, why, f"{written}\n # {cost.source}", cost.risk, evidence)


def _pixels(width: int, height: int) -> str:
    return f"{width:,} × {height:,}"


def _applies(cost: KnownCost, case: Case) -> bool:
    if cost.needs_gpu and not case.facts.uses_gpu:
        return False
    if cost.needs_bytes and case.loader.batch_fits_uint8 is False:
        return False
    # Where joining is the main part of loading, the change for that says the same.
    is_said = cost.stage == "collate" and case.found("slow_collate") is not None
    return not is_said and _fits_types(cost, case.loader.batch_dtypes) and _fits_sizes(cost, case)


def _fits_types(cost: KnownCost, dtypes: Mapping[str, int] | None) -> bool:
    if cost.needs_float64 and dtypes and "float64" not in dtypes:
        return False
    return not (cost.needs_floats and dtypes) or any("float" in name for name in dtypes)


def _fits_sizes(cost: KnownCost, case: Case) -> bool:
    sizes = case.facts.loading.picture_sizes if case.facts.loading else ()
    if not are_known(sizes):
        return True
    if cost.needs_larger and reduction_of(sizes) is None:
        return False
    return not cost.needs_smaller_use or become_smaller(sizes)


def _is_made_smaller(loading: LoaderHotspots, places: Collection[Place]) -> bool:
    """What is resized, by a fix that is offered already: little is left to resize, and its sketch names copies, too."""
    if reduction_of(loading.picture_sizes) is None:
        return False
    meant = (cost.within(loading, places) for cost in KNOWN_COSTS if cost.shrinks)
    return any(is_meant and (share_of(loading, is_meant) or 0.0) >= LEAST_SHARE for is_meant in meant)


def _any_line(case: Case, loading: LoaderHotspots, covered: set[CostlyLine]) -> Iterator[tuple[float, Offer]]:
    """The costliest call of loading a sample, where it computes and no cheaper way is known of it."""
    line = costliest_line(loading, lambda stage, _places: stage == "getitem")
    blocked = measures.load_share(case.rank, case.rank.batches.blocked_us)
    computes = blocked is not None and blocked < THRESHOLDS.blocked_fraction
    if line is None or line.fraction < LEAST_SHARE_OF_ANY or not computes:
        return
    if any((one.at, one.called) == (line.at, line.called) for one in covered):
        return
    share = KnownShare(line.fraction, line.margin_fraction)
    offer = _offer(case, loading, line, share, ANY_RANDOM if _draws(loading, line) else ANY)
    if offer is not None:
        yield _at_least(share), offer


def _draws(loading: LoaderHotspots, line: CostlyLine) -> bool:
    """Somewhere in the function of the line, in a line that calls that, or in what these call, a random number was seen
    to be drawn."""
    function = (line.function, line.file)
    callers = {
        place
        for _stage, stack in loading.samples
        for at, place in enumerate(stack)
        if any(inner[:2] == function for inner in stack[at + 1 :])
    }

    def is_drawing(stack: tuple[Place, ...]) -> bool:
        within = next((at for at, place in enumerate(stack) if place[:2] == function or place in callers), len(stack))
        return any(DRAWS.search(name) for name, _file, _line in stack[within:])

    return any(is_drawing(stack) for _stage, stack in loading.samples)


def _slow_samples(case: Case, loading: LoaderHotspots, cost_fraction: float) -> Iterator[Offer]:
    """Those that hold others up, where it is known which they are."""
    first = next((each for each in loading.slow_samples if named(each) is not None), None)
    if first is None:
        return
    ceiling = min(factor_without(cost_fraction), case.ceiling(case.rank).speedup)
    if not is_worthwhile(ceiling):
        return
    known, (limit, alike) = len(loading.slow_samples), files_alike(loading.slow_samples)
    like = f" {alike} of the slowest {known} are of files about as large." if limit and alike > 1 else ""
    yield Offer(
        to="slow samples prepared",
        title="Prepare the few slow samples once",
        why=f"Loading {named(first)} takes {took(first)}, and ready batches wait for it.{like}",
        risk="What is prepared differs from the original where it is cropped or resized: compare a sample.",
        diff=WRITE_SLOW,
        evidence=[
            *slowest(loading.slow_samples),
            Evidence(what="Speed-up if none held others up", value=ceiling, unit="factor"),
        ],
        gain=(
            "how fast these samples load once they are prepared was not seen in this run. If none of them held others "
            f"up, it would be about × {ceiling:.2f}"
        ),
        ceiling=Ceiling(ceiling),
    )


def _offer(
    case: Case,
    loading: LoaderHotspots,
    line: CostlyLine,
    share: KnownShare,
    said: Said,
    takes: str = "this takes",
    left_out: str = "",
) -> Offer | None:
    """``takes``: whose the share is. ``left_out``: what the ceiling does not count. ``None``: even if all of that work
    went away, the run would hardly be faster.
    """
    ceiling, ends = case.ceiling_without(share.fraction), _ends(case, share)
    if not is_worthwhile(ceiling):
        return None
    within = f" ({ends[0]:.2f} to {ends[1]:.2f} by the margin of that share)" if ends else ""
    return Offer(
        to=said.name,
        title=said.title,
        why=f"{line}{_through(line)}: {said.why}",
        risk=said.risk,
        diff=said.write,
        at=None if line.below else line.at,
        evidence=[
            Evidence(
                what=f"Of loading, what {said.name} takes the place of",
                value=share.fraction,
                unit="fraction",
                margin_fraction=share.margin_fraction,
            ),
            *_of_line(line, share, said),
            Evidence(what=LOOKS, value=loading.seen, unit="count"),
            *said.evidence,
            Evidence(what=f"Speed-up if {said.name} cost nothing", value=ceiling, unit="factor"),
        ],
        gain=(
            "what the other way costs was not seen in this run. If it cost nothing, the "
            f"{percent(share.fraction)} of loading that {takes} would be saved: about × {ceiling:.2f}{within}{left_out}"
        ),
        ceiling=Ceiling(ceiling),
        ceiling_ends=ends,
        ceiling_of=_whose(share, line, takes),
    )


def _of_line(line: CostlyLine, share: KnownShare, said: Said) -> Iterator[Evidence]:
    """Nothing where all of it is at that line: the same figure would stand under two names."""
    if percent(line.fraction) != percent(share.fraction):
        what = f"What {said.name} takes the place of at {line}"
        yield Evidence(what=what, value=line.fraction, unit="fraction", margin_fraction=line.margin_fraction)


def _ends(case: Case, share: KnownShare) -> tuple[float, float] | None:
    """Between which the ceiling lies, as the share does; ``None``: not known."""
    if share.low is None or share.high is None:
        return None
    return case.ceiling_without(share.low), case.ceiling_without(share.high)


def _whose(share: KnownShare, line: CostlyLine, takes: str) -> str:
    """What the ceiling is of: where the line has less, its share beside the ceiling would be taken for that."""
    part = f"{percent(share.fraction)} of loading"
    is_of_line = percent(line.fraction) == percent(share.fraction)
    where = takes.removesuffix(" take together").replace("this line takes", "this line")
    return part if is_of_line else f"{part}, in {where}"


def _through(line: CostlyLine) -> str:
    """A helper is not what has to change where it is called too often."""
    callers = (f"{name_of(place)} ({percent(part)})" for place, part, _margin in line.callers[:CALLERS])
    return f", through {', '.join(callers)}" if line.callers else ""


CHANGE = Change(
    label="cheaper transform",
    consider=consider,
)
