"""From where in the program a line is reached that several places call: a helper alone is not what has to change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from underfed_server.store.reading.stacks import Looks, Place, none_seen

LEAST_OF_LINE = 0.05
"""Of the looks at a line, through one caller. Own choice: of fewer a share is hardly known."""

Chain = tuple[Place, ...]
"""Places of the program through which a line is reached, the innermost first; last, without a line, the function of a
library that calls them."""


def chain_to(places: Sequence[Place], at: int, own_files: AbstractSet[str]) -> Chain:
    """To ``places[at]``. Of a function that calls itself the innermost call alone."""
    known = {places[at][:2]}
    chain: list[Place] = []
    outermost = at
    for index in range(at - 1, -1, -1):
        place = places[index]
        if place[1] not in own_files:
            continue
        outermost = index
        if place[:2] not in known:
            known.add(place[:2])
            chain.append(place)
    if outermost:
        function, file, _line = places[outermost - 1]
        chain.append((function, file, None))
    return tuple(chain)


def callers_of(chains: Mapping[Chain, Looks]) -> list[tuple[Place, Looks]]:
    """Where the ways to a line part, seen from it: each place, and how often the line was seen through it; most first.
    What all ways have in common distinguishes none of them. None where there is one way.
    """
    least = LEAST_OF_LINE * sum(looks.sum() for looks in chains.values())
    ways = list(chains.items())
    for depth in range(max(map(len, chains), default=0)):
        if len(ways) == 1:
            return []
        by_place: dict[Place, list[tuple[Chain, Looks]]] = defaultdict(list)
        for chain, looks in ways:
            if depth < len(chain):
                by_place[chain[depth]].append((chain, looks))
        counts = {place: sum((looks for _, looks in these), none_seen()) for place, these in by_place.items()}
        often = [place for place, looks in counts.items() if looks.sum() >= least]
        if len(often) != 1:
            return sorted(((place, counts[place]) for place in often), key=lambda each: -int(each[1].sum()))
        ways = by_place[often[0]]
    return []
