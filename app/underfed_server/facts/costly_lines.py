"""The lines of a program that loading spends its time in, and what it calls there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from underfed_server.facts.called_names import Call, called_at, innermost_own, is_called, names_of_calls
from underfed_server.facts.callers import Chain, callers_of, chain_to
from underfed_server.facts.loading import LEAST_SAMPLES, Lines, LoaderHotspots, Looks, Place, Samples
from underfed_server.facts.share_of_looks import Whole
from underfed_server.model import Stage
from underfed_server.store.reading.stacks import none_seen

IsMeant = Callable[[Stage, tuple[Place, ...]], bool]
"""Whether a stack, the outermost place first, is one of those asked for."""


class Reached(NamedTuple):
    """A place through which a line is reached, and what it has of the line's share."""

    place: Place
    fraction: float
    margin_fraction: float | None


@dataclass(frozen=True, slots=True)
class CostlyLine:
    """A line of the program; where no line of the program is in the stack, that of a library's innermost function."""

    function: str
    """That the line is in."""
    file: str
    line: int | None
    called: str | None
    """What is called there; ``None``: the time is spent in the function itself."""
    below: str | None
    """Of a library's line: the outermost function, which is what the data set is made of."""
    fraction: float
    """Of all loading."""
    margin_fraction: float | None = None
    """By which ``fraction`` may be off, in 95 of 100 cases; ``None``: not known."""
    callers: tuple[Reached, ...] = ()
    """Where several places call the function that the line is in."""
    lines: Lines | None = None
    """The time was spent in one of these, which cannot be distinguished; ``None``: in that line."""

    @property
    def at(self) -> str:
        """``data.py:41``, ``data.py:38–41``"""
        return self.file if self.line is None else f"{self.file}:{lines_in_words(self.line, self.lines)}"

    def __str__(self) -> str:
        """``Image.resize at data.py:41, in Photos.__getitem__``; ``Image.resize at PIL/Image.py:2440, below
        ImageFolder.__getitem__``; ``re.sub or what precedes it at data.py:38–41, in Texts.__getitem__``.
        """
        if self.called is not None and self.lines is not None:
            return f"{self.called} or what precedes it at {self.at}, in {self.function}"
        if self.called is not None:
            return f"{self.called} at {self.at}, in {self.function}"
        below = "" if self.below is None else f", below {self.below}"
        return f"{self.function} at {self.at}{below}"


def costliest_line(loading: LoaderHotspots, is_meant: IsMeant | None = None) -> CostlyLine | None:
    """Of the stacks that are meant, that which most of them are in. ``None``: none is, or too little was seen."""
    return next(iter(costly_lines(loading, is_meant, most=1)), None)


def costly_lines(loading: LoaderHotspots, is_meant: IsMeant | None = None, *, most: int) -> list[CostlyLine]:
    """Most first; each stack counts for one. None where too little was seen."""
    if loading.seen < LEAST_SAMPLES:
        return []
    chains: dict[_Line, dict[Chain, Looks]] = defaultdict(lambda: defaultdict(none_seen))
    names = names_of_calls(loading.samples, loading.own_files)
    for (stage, places), looks in loading.samples.items():
        if places and (is_meant is None or is_meant(stage, places)):
            line, at = _line_of(places, loading.own_files, names)
            chains[line][chain_to(places, at, loading.own_files)] += looks
    whole = loading.whole
    counts = {line: int(sum(ways.values(), none_seen()).sum()) for line, ways in chains.items()}
    often = sorted(counts, key=lambda line: -counts[line])[:most]
    return [_costly(line, chains[line], whole, loading.lines) for line in often]


def looks_at(lines: Sequence[CostlyLine], part: Samples, loading: LoaderHotspots) -> list[Looks]:
    """How many found each of these lines, of a ``part`` of the looks at this loading."""
    names = names_of_calls(loading.samples, loading.own_files)
    found: dict[_Line, Looks] = defaultdict(none_seen)
    for (_stage, places), looks in part.items():
        if places:
            found[_line_of(places, loading.own_files, names)[0]] += looks
    return [found[_Line((line.function, line.file, line.line), line.called, line.below)] for line in lines]


def lines_in_words(line: int, lines: Lines | None) -> str:
    """``41``; ``38–41``: one of these."""
    return str(line) if lines is None else f"{lines[0]}–{lines[1]}"


def name_of(place: Place) -> str:
    """``Photos.crop at data.py:60``"""
    function, file, line = place
    return f"{function} at {file}" + ("" if line is None else f":{line}")


def share_of(loading: LoaderHotspots, is_meant: IsMeant) -> float | None:
    """Of loading, the stacks that are meant. ``None``: too little was seen."""
    return None if (known := known_share_of(loading, is_meant)) is None else known.fraction


class KnownShare(NamedTuple):
    """A share, and within which ends it lies in 95 of 100 cases; ``None``: not known."""

    fraction: float
    margin_fraction: float | None

    @property
    def low(self) -> float | None:
        return None if self.margin_fraction is None else max(0.0, self.fraction - self.margin_fraction)

    @property
    def high(self) -> float | None:
        return None if self.margin_fraction is None else min(1.0, self.fraction + self.margin_fraction)


def known_share_of(loading: LoaderHotspots, is_meant: IsMeant) -> KnownShare | None:
    """As :func:`share_of`, with how well it is known."""
    if loading.seen < LEAST_SAMPLES:
        return None
    meant = (looks for (stage, places), looks in loading.samples.items() if is_meant(stage, places))
    whole, looks = loading.whole, sum(meant, none_seen())
    return KnownShare(whole.share(looks), whole.margin(looks))


class _Line(NamedTuple):
    place: Place
    called: str | None
    below: str | None


def _costly(line: _Line, chains: Mapping[Chain, Looks], whole: Whole, lines: Mapping[Place, Lines]) -> CostlyLine:
    looks = sum(chains.values(), none_seen())
    return CostlyLine(
        *line.place,
        called=line.called,
        below=line.below,
        fraction=whole.share(looks),
        margin_fraction=whole.margin(looks),
        callers=tuple(Reached(place, whole.share(part), whole.margin(part)) for place, part in callers_of(chains)),
        # Only of what is not written in Python the place has the name of what is called.
        lines=lines.get((line.called or line.place[0], *line.place[1:])),
    )


def _line_of(places: tuple[Place, ...], own_files: frozenset[str], names: Mapping[Call, str]) -> tuple[_Line, int]:
    """The innermost line of the program with what it calls, and its place in the stack."""
    own = innermost_own(places, own_files)
    if own is None:
        last = len(places) - 1 - is_called(places, len(places) - 1)
        return _Line(places[last], None, places[0][0] if last else None), last
    return _Line(places[own], called_at(places, own, names), None), own
