"""Functions of the program's own that the training thread is in between batches, and in which nothing is trained."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from underfed_server.diagnosis.between_batches import LEAST_FRACTION, LEAST_OF_LOOP, WORKS, KnownWork
from underfed_server.diagnosis.checkpoints import saves
from underfed_server.facts.called_names import is_called
from underfed_server.facts.costly_lines import CostlyLine, IsMeant, KnownShare, costliest_line, known_share_of, share_of
from underfed_server.facts.loading import LoaderHotspots, Place
from underfed_server.model import Stage

TRAINS = re.compile(r" torch/(nn|autograd|optim|_dynamo|amp)/| torch/_compile\.py$|^Tensor\.backward ")
"""Any place of a stack, written as function, space, file: of a module, of gradients, or of an optimizer."""

MOST_TRAINED = 0.02
"""Of the looks in a function, up to which it trains nothing. Own choice: a log may ask a module for something."""

MOST_OF_WORK = 0.5
"""Of the looks in a function, at work that has a sentence of its own, from which it needs no other."""

LEAST_OF_WORK = 0.02
"""Of the looks in a function, at known work, from which that is named with it."""

_Function = tuple[str, str]
"""Its name and file."""


@dataclass(frozen=True, slots=True)
class OwnWork:
    name: str
    called_at: str
    """``train.py:31``"""
    share: KnownShare
    """Of the looks between batches."""
    of_loop: float
    line: CostlyLine | None
    """Most often within it."""
    works: tuple[KnownWork, ...]
    """Seen there as well."""

    def __str__(self) -> str:
        return f"{self.name}, called at {self.called_at}"


def least_share(of_loop: float) -> float:
    """Of the looks between batches, which are ``of_loop`` of the loop's time, from which work is worth a sentence."""
    return max(LEAST_FRACTION, LEAST_OF_LOOP / of_loop if of_loop > 0 else 1.0)


def own_works(between: LoaderHotspots, of_loop: float) -> list[OwnWork]:
    """Most first. ``of_loop``: what the time between batches is of the loop's."""
    found, callers = _functions(between), defaultdict[_Function, Counter[Place]](Counter)
    for (_stage, places), looks in between.samples.items():
        at = _outermost_of(places, between.own_files, found)
        if at is not None:
            callers[places[at][:2]][_caller(places, at, between.own_files)] += int(looks.sum())
    works = (_own_work(between, of_loop, function, found, at) for function, at in callers.items())
    return sorted((each for each in works if each is not None), key=lambda each: -each.of_loop)


def _own_work(
    between: LoaderHotspots, of_loop: float, function: _Function, found: frozenset[_Function], at: Counter[Place]
) -> OwnWork | None:
    """``None``: too little, or other sentences name it."""

    def is_within(_stage: Stage, places: tuple[Place, ...]) -> bool:
        own = _outermost_of(places, between.own_files, found)
        return own is not None and places[own][:2] == function

    def within(is_meant: IsMeant) -> float:
        return share_of(between, lambda stage, places: is_within(stage, places) and is_meant(stage, places)) or 0.0

    share = known_share_of(between, is_within)
    if share is None or share.fraction < least_share(of_loop):
        return None
    parts = [(work, within(work.within(between))) for work in WORKS]
    if max([within(saves), *(part for _, part in parts)]) >= MOST_OF_WORK * share.fraction:
        return None
    _name, file, line = at.most_common(1)[0][0]
    works = tuple(work for work, part in parts if part >= LEAST_OF_WORK * share.fraction)
    return OwnWork(
        function[0], f"{file}:{line}", share, share.fraction * of_loop, costliest_line(between, is_within), works
    )


def _functions(between: LoaderHotspots) -> frozenset[_Function]:
    """That train nothing; nor is any of them the loop itself, which is in every stack."""
    seen, trained, whole = Counter[_Function](), Counter[_Function](), 0
    for (_stage, places), looks in between.samples.items():
        count, functions = int(looks.sum()), {places[at][:2] for at in _own(places, between.own_files)}
        whole += count if functions else 0
        is_training = any(TRAINS.search(f"{function} {file}") for function, file, _line in places)
        for function in functions:
            seen[function] += count
            trained[function] += count * is_training
    return frozenset(each for each in seen if trained[each] <= MOST_TRAINED * seen[each] and seen[each] < whole)


def _own(places: tuple[Place, ...], own_files: frozenset[str]) -> Iterator[int]:
    """What is not written in Python stands at the place of its call: it is none of the program's functions."""
    last = len(places) - is_called(places, len(places) - 1) if places else 0
    return (at for at in range(last) if places[at][1] in own_files)


def _outermost_of(places: tuple[Place, ...], own_files: frozenset[str], found: frozenset[_Function]) -> int | None:
    """Never the outermost of all: that has the loop."""
    own = [*_own(places, own_files)]
    return next((at for at in own[1:] if places[at][:2] in found), None)


def _caller(places: tuple[Place, ...], at: int, own_files: frozenset[str]) -> Place:
    return next(places[own] for own in reversed([*_own(places, own_files)]) if own < at)
