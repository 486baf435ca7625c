"""What the loaders of a run are for, recognised by what happens between their batches: which are asked in turn by one
loop, and which are passed over while another one waits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from underfed_server.facts.recorded import RecordedSteps
from underfed_server.model import Role

CLEARLY_SHORTER = 2.0
"""A validation takes a part of the training's time. Where neither takes so many times as long as the other, and both
are passed over by turns, only their names tell which is which."""

NAMED = re.compile(r"(?<![a-z])(val|valid|validation|validate|eval|evaluation|dev|test)(?![a-z])")
"""A word within a loader's name, by which frameworks and programs call what they do not train with."""


@dataclass(frozen=True, slots=True)
class Used:
    """How a run used one loader."""

    loader: str
    spent_us: float
    """In its steps, over all ranks."""
    ranks: Mapping[int, RecordedSteps]

    @property
    def has_grads(self) -> bool | None:
        """Whether a graph was built in one of its epochs, or could be where that was not seen; ``None``: not known."""
        said = [
            epoch.grad_enabled if epoch.graph_built is None else epoch.graph_built
            for each in self.ranks.values()
            for epoch in each.epochs
        ]
        known = [each for each in said if each is not None]
        return any(known) if known else None

    @property
    def has_grads_enabled(self) -> bool:
        """Of one of its epochs, when it began: a training without autograd leaves them enabled, too."""
        return any(epoch.grad_enabled for each in self.ranks.values() for epoch in each.epochs)

    @property
    def is_named_validation(self) -> bool:
        return NAMED.search(self.loader.lower().replace("_", " ")) is not None


def roles_of(used: list[Used]) -> dict[str, Role]:
    """Without gradients while another loader has them: validation. Where no loop of the run builds a graph, names tell,
    and that there is one loop. Where that was not recorded: what is passed over, from its first batch to its last,
    while another loader is used before and after and is not asked meanwhile.
    """
    if not used:
        return {}
    if all(one.has_grads is False for one in used):
        return _without_graphs(used)
    trained = max(used, key=lambda one: (one.has_grads is True, not _serves_any(one, used), one.spent_us))
    return {one.loader: _role(one, trained, used) for one in used}


def loops_of(used: list[Used]) -> dict[str, int]:
    """A number for each loop; loaders that one loop asks in turn have the same."""
    loops = {one.loader: place for place, one in enumerate(used)}
    for one, other in combinations(used, 2):
        if _take_turns(one, other):
            old, new = loops[other.loader], loops[one.loader]
            loops = {loader: new if loop == old else loop for loader, loop in loops.items()}
    return loops


def _without_graphs(used: list[Used]) -> dict[str, Role]:
    """A training by hand looks like a validation: which of them takes longer, or comes first, tells nothing, nor do
    gradients that are enabled where none are computed.
    """
    unnamed = [one for one in used if not one.is_named_validation]
    is_one_loop = len(set(loops_of(unnamed).values())) == 1 and any(one.has_grads_enabled for one in unnamed)
    role: Role = "train" if is_one_loop else "other"
    others: Role = "validation" if unnamed else "other"
    return {one.loader: role if one in unnamed else others for one in used}


def _role(one: Used, trained: Used, used: list[Used]) -> Role:
    if one.has_grads is not None and any(each.has_grads for each in used):
        return "train" if one.has_grads else "validation"
    if one is trained:
        return "train"
    if _take_turns(one, trained):
        return "train"
    return "validation" if _serves(one, trained) or one.is_named_validation else "other"


def _serves_any(one: Used, used: list[Used]) -> bool:
    return any(_serves(one, other) for other in used if other is not one)


def _serves(one: Used, other: Used) -> bool:
    """Whether the passes over ``one`` lie within one step, or between two epochs, of ``other``, which takes longer."""
    if not (_is_passed_over(one, other) and _lies_between(one, other)):
        return False
    if CLEARLY_SHORTER * one.spent_us <= other.spent_us:
        return True
    is_by_turns = _is_passed_over(other, one)
    if is_by_turns and CLEARLY_SHORTER * other.spent_us <= one.spent_us:
        return False
    if one.is_named_validation != other.is_named_validation:
        return one.is_named_validation
    return one.spent_us < other.spent_us


def _take_turns(one: Used, other: Used) -> bool:
    """One loop asks both: passes over each hold requests of the other."""
    rank = _common_rank(one, other)
    if rank is None or one.ranks[rank].is_read_ahead != other.ranks[rank].is_read_ahead:
        return False
    return not (_is_passed_over(one, other) or _is_passed_over(other, one))


def _is_passed_over(one: Used, other: Used) -> bool:
    """Most passes over ``one`` hold no request of ``other``; so do those of which the other's steps are not known."""
    rank = _common_rank(one, other)
    if rank is None:
        return True
    held = [other.ranks[rank].is_asked_between(*each) for each in _passes(one.ranks[rank])]
    return 2 * sum(held) < len(held)


def _lies_between(one: Used, other: Used) -> bool:
    """``other`` was used before and after a pass over ``one``, or its epoch is not over."""
    rank = _common_rank(one, other)
    if rank is None:
        return False
    theirs = _passes(other.ranks[rank])
    first, last = min(begin for begin, _ in theirs), max(end for _, end in theirs)
    newest = max(other.ranks[rank].epochs, key=lambda epoch: epoch.start_us, default=None)
    is_open = newest is not None and newest.ended is None
    return any(first < begin and (end < last or is_open) for begin, end in _passes(one.ranks[rank]))


def _common_rank(one: Used, other: Used) -> int | None:
    return min(one.ranks.keys() & other.ranks.keys(), default=None)


def _passes(recorded: RecordedSteps) -> list[tuple[float, float]]:
    """Begin and end of each pass over a loader, at least of one: of its epochs, and where these were not recorded, as
    far as its newest steps show them.
    """
    rows, epochs = recorded.rows, {epoch.epoch_index: epoch for epoch in recorded.epochs}
    ended_us = np.fmax(rows.start_us + rows.data_wait_us, recorded.ends_us)
    found = []
    for index in np.unique(rows.epoch_index):
        own = rows.epoch_index == index
        epoch = epochs.pop(int(index), None)
        begin_us = float(rows.start_us[own][0]) if epoch is None else float(epoch.start_us)
        last_us = float(np.max(ended_us[own]))
        found.append((begin_us, last_us if epoch is None or epoch.end_us is None else float(epoch.end_us)))
    found += [(float(each.start_us), float(each.end_us)) for each in epochs.values() if each.end_us is not None]
    return found
