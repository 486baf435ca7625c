"""The order of fixes, and of these and what is to be done outside the loader: by what each can give at most, and by how
sure that is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from underfed_server.advice.case import Case, cures
from underfed_server.advice.catalogue import all_changes
from underfed_server.advice.catalogue.cheaper_transform import ANY
from underfed_server.advice.outside_loader import Action
from underfed_server.diagnosis.measures import used_cores_fraction
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Advice
from underfed_server.names import ChangeName

OF_WORK = ("cheaper_transform", "vectorize_collate")
"""Loading does less. What is gained at most was measured, as the share of that work; how much of it is not."""

OF_CORES = ("num_workers", "cpu_allocation")
"""The same work is done by more. What is gained was predicted, and is no more than there are cores for."""

WITHIN_QUEUE = ("prefetch_factor", "in_order")
"""The same work is done in another order. Where it may be a loss as well, it comes after work that is known to go."""

OF_QUEUE = "prefetch_factor"
"""The same work is done earlier, by as many. What is gained at most is the upper end of its interval."""

ALL_USED = 0.95
"""Share of the usable cores from which there is none for one more worker."""


def in_order(case: Case, advice: Iterable[Advice]) -> list[Advice]:
    """First the cures of the leading cause, where their gain cannot be compared with that of the others; then by gain,
    as it is written, of what promises as much a setting before work on the host or the data; and what has none by the
    cost of the causes that it cures. A stable sort. Then less work before more workers or a longer queue, where
    these cannot help as much (:func:`_is_before`).
    """
    offered = list(advice)
    ahead = _cures_ahead(case, offered)

    def place(one: Advice) -> tuple[bool, float, bool, float]:
        is_work = one.is_promised and not one.settings
        return one.change not in ahead, -round(_gain(one), 2), is_work, -case.cost_fraction(one.change)

    return _less_work_first(case, sorted(offered, key=place))


def is_outside_first(outside: Sequence[Action], advice: Sequence[Advice], paused: float) -> bool:
    """Whether the first of ``outside`` comes before the first of ``advice``, in the order of :func:`in_order`.

    A fix that promises a gain comes first. What neither promises is compared by what it gives at most: less work comes
    first where the lower end of its ceiling is above that of the act, so where other jobs fill the cores, a line that
    costs most of loading comes before moving them. ``paused``: share of the loop's time in which the program did
    something else, of which no fix of the loader takes any.
    """
    if not outside or any(one.is_promised for one in advice):
        return False
    act, work = outside[0], next((one for one in advice[:1] if one.change in OF_WORK), None)
    ceiling = None if work is None else _least_ceiling(work)
    if ceiling is None or not act.of_loop:
        return True
    return (1 - paused) * (1 - 1 / ceiling) <= act.of_loop


def _least_ceiling(work: Advice) -> float | None:
    return work.ceiling if work.ceiling_low is None else work.ceiling_low


def _less_work_first(case: Case, ordered: list[Advice]) -> list[Advice]:
    """Each is moved before the first that it comes before."""
    for one in [each for each in ordered if each.change in OF_WORK]:
        at = ordered.index(one)
        earlier = (place for place, other in enumerate(ordered[:at]) if _is_before(case, one, other))
        if (place := next(earlier, None)) is not None:
            ordered.insert(place, ordered.pop(at))
    return ordered


def _is_before(case: Case, work: Advice, other: Advice) -> bool:
    """Whether doing ``work`` in a cheaper way comes before more workers or cores for it, or a longer queue. Its ceiling
    is what it gives at most, here by its lower end: it is sure enough where a cheaper way is known, and that is clearly
    more than they are predicted to gain, or more than the queue gains at most, or the queue may be a loss. Where no
    core is left for another worker, any larger ceiling is.
    """
    if other.change in WITHIN_QUEUE and _may_be_loss(other) and work.ceiling is not None:
        return work.to != ANY.name and not _takes_less(case, other)
    ceiling = _least_ceiling(work)
    if other.change not in (*OF_CORES, OF_QUEUE) or ceiling is None or _takes_less(case, other):
        return False
    is_known = work.to != ANY.name
    if other.change == OF_QUEUE:
        return is_known and ceiling > (other.high or _gain(other))
    used = used_cores_fraction(case.rank, case.facts.host)
    if used is not None and used >= ALL_USED and other.change == "num_workers":
        return ceiling > _gain(other)
    return is_known and ceiling >= THRESHOLDS.clearly_larger_factor * (other.predicted_speedup or 1.0)


def _may_be_loss(other: Advice) -> bool:
    return not other.is_promised and (other.low is None or other.low < 1)


def _takes_less(case: Case, other: Advice) -> bool:
    """Fewer workers, or a shorter queue, are not for loading faster: the run is short of memory, or the workers take
    the training's cores."""
    now = {"num_workers": case.num_workers, OF_QUEUE: case.prefetch_factor}.get(other.change)
    return now is not None and isinstance(other.to, int) and other.to < now


def _cures_ahead(case: Case, offered: Sequence[Advice]) -> set[ChangeName]:
    """None of them has a figure: whatever else has one acts on what costs less. Or one goes first by itself. Or it is
    one of whole epochs, where the others' are of the loop between their starts.
    """
    leading = case.verdict.causes[0] if case.verdict.causes else None
    cures_it = [one for one in offered if leading is not None and cures(one.change, leading)]
    between = {one.change for one in cures_it if one.predicted_speedup and all_changes()[one.change].is_between_epochs}
    first = {one.change for one in cures_it if (goes := all_changes()[one.change].goes_first) and goes(case)}
    has_figure = any(one.predicted_speedup is not None for one in cures_it)
    return between or first or (set() if has_figure else _unpromised(cures_it, offered))


def _unpromised(cures_it: Sequence[Advice], offered: Sequence[Advice]) -> set[ChangeName]:
    """Beside another number of workers with a figure, a cheaper line is compared with that (:func:`_is_before`)."""
    ahead = {one.change for one in cures_it}
    promised = any(one.change == "num_workers" and one.predicted_speedup is not None for one in offered)
    return ahead - {"cheaper_transform"} if promised else ahead


def _gain(one: Advice) -> float:
    """What is gained at least; of what is only to be tried the middle of its interval; 0 where nothing was computed."""
    if one.is_promised and one.predicted_speedup is not None:
        return one.predicted_speedup if one.low is None else one.low
    return math.sqrt(one.low * one.high) if one.low is not None and one.high is not None else 0.0
