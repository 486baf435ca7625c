"""Steps that go on far beyond what is usual after their wait: the program does something else in them.

A long one is a pause by itself. A shorter one, or one of many, may be a step's own work, such as an optimizer's after
accumulated gradients or a wait for queued kernels: it is a pause where the process was seen to write meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from underfed_server.facts.record import Checkpoints, Mask, Places
from underfed_server.measurements import Column, StepRows, or_zero

LEAST_PAUSE_US, MANY_STEPS = 1e6, 5.0
"""The program does something else where a step goes on for a second, and for so many usual steps, after its wait."""

RARE = 0.05
"""Share of the steps up to which such ones are pauses: a loop in which more are long is one of long steps."""

LEAST_WRITING_US, TWO_STEPS = 20e3, 2.0
"""A step in which the process writes as much as a checkpoint is a pause from so long on, and from so many usual steps.
Own choice: of less, the step's own work is not distinguished."""

OFTEN = 0.5
"""Share of the steps up to which those are pauses: of more, the median step would be one of them."""

AS_LONG = 0.1
"""Of the longest span between two samples, from which another may have written what was written there: the same
checkpoint took 0.08 to 0.58 s on one disk (own study)."""

FEW_STRETCHES, MOST_IN_ONE, OFF = 5, 3, 0.05
"""Of fewer stretches multiples are found by chance. One or another of them holds one save, or so many; and what is off
by no more of a save, on average, is a multiple of it. Own choices, by made programs and real ones."""

MOST_TRIED = 100
"""Of what was written between two samples, divided to find the bytes of one save."""

SAME = 1e-9
"""Of all that is to be explained: less is a difference of rounding."""

LEAST_WRITTEN_BYTES = 1_000_000
"""Written in a pause, from which it is called a checkpoint: logs and figures are smaller, weights larger."""

ASKED_FRACTION = 0.01
"""Of the steps' time, up to which it is not asked what longer ones were spent on."""


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What a process passed to ``write`` until each of some instants, ascending."""

    at_us: Column
    bytes: Column
    is_alone: bool = False
    """It has no other rank to send gradients to, which gloo does by ``write``, too."""

    @classmethod
    def of(cls, at_us: Column, counted: Column, *, is_alone: bool = False) -> Written:
        """``counted``: since its process started."""
        known = np.isfinite(counted)
        at_us, counted = at_us[known], counted[known]
        # A new process counts from 0 again.
        grown = np.maximum(0.0, np.diff(counted, prepend=counted[:1]))
        return cls(at_us, np.cumsum(grown), is_alone)

    def within(self, begin_us: Column, end_us: Column) -> Column:
        """In each of some spans, beyond what is usual outside of spans; 0 of what was not sampled.

        What was written between two samples was written in one span or several, and which is not known: as many as it
        is of saves are taken to have written it, the longest of those there, each the same.

        Args:
            begin_us, end_us: ascending, of spans that do not overlap.
        """
        usual = self._usual_rate(begin_us, end_us) if len(self.at_us) > 1 and len(begin_us) else None
        if usual is None:
            return np.zeros(len(begin_us))
        is_between = ~_lie_within(self.at_us, begin_us, end_us)
        is_between[-1] = True  # a process that ends while it saves is sampled no more
        instants = self.at_us[is_between]
        place = np.searchsorted(instants, begin_us, side="right") - 1
        lasted_us, sampled = end_us - begin_us, (place >= 0) & (place < len(instants) - 1)
        if not sampled.any():
            return np.zeros(len(begin_us))
        longest_us = np.zeros(len(instants))
        np.maximum.at(longest_us, place[sampled], lasted_us[sampled])
        sampled &= lasted_us >= AS_LONG * longest_us[place]
        total = np.diff(np.interp(instants, self.at_us, self.bytes))
        extra = np.maximum(0.0, total - usual * np.diff(instants))
        written = np.zeros(len(begin_us))
        written[sampled] = _of_the_longest(extra, place[sampled], lasted_us[sampled])
        return written

    def _usual_rate(self, begin_us: Column, end_us: Column) -> float | None:
        """Bytes a microsecond between samples that no span reaches into. Where there are none, a process that is alone
        is taken to write nothing else; ``None``: of one of several it is not known.
        """
        since_us, until_us = self.at_us[:-1], self.at_us[1:]
        is_free = np.searchsorted(end_us, since_us, side="right") == np.searchsorted(begin_us, until_us)
        # After the last of them the program may save once more, in a step whose end was not seen.
        is_free &= (until_us > since_us) & (until_us <= end_us[-1])
        if not is_free.any():
            return 0.0 if self.is_alone else None
        return float(np.median(np.diff(self.bytes)[is_free] / (until_us - since_us)[is_free]))


def _lie_within(at_us: Column, begin_us: Column, end_us: Column) -> Mask:
    """Which instants lie in one of the spans."""
    span = np.searchsorted(begin_us, at_us, side="right") - 1
    return (span >= 0) & (at_us < end_us[span])


def _of_the_longest(extra: Column, place: Places, lasted_us: Column) -> Column:
    """By span: what it wrote.

    Args:
        extra: bytes written in each stretch of time.
        place: the stretch that each span lies in.
        lasted_us: of each span.
    """
    order = np.argsort(-lasted_us, kind="stable")
    together = extra[np.unique(place)]
    written = np.zeros(len(place))
    if not together.any():
        return written
    each = _of_one_save(together, _unexplained(extra, place[order]))
    saves = np.maximum(1.0, np.round(extra / each))
    rank = np.zeros(len(place))
    by_stretch = order[np.argsort(place[order], kind="stable")]
    _, first, counts = np.unique(place[by_stretch], return_index=True, return_counts=True)
    rank[by_stretch] = np.arange(len(place)) - np.repeat(first, counts)
    spans = np.bincount(place, minlength=len(extra))
    wrote = rank < saves[place]
    written[wrote] = (extra / np.minimum(saves, np.maximum(1, spans)))[place[wrote]]
    return written


def _of_one_save(together: Column, unexplained: Column) -> float:
    """Bytes. A checkpoint is as large as the one before it: the most that what was written between any two samples is a
    multiple of, for it is hardly ever the same multiple all the while. Where there is no such, by the number of saves
    that explains best when it was written.

    Args:
        together: bytes of one save or several, at least one of them not 0.
        unexplained: by number of saves.
    """
    alike = np.flatnonzero(unexplained <= unexplained.min() + SAME * float((together**2).sum()))
    about = float(together.sum()) / (int(alike[-1]) + 1)
    together = together[together >= LEAST_WRITTEN_BYTES]
    if len(together) < FEW_STRETCHES:
        return about
    some = np.sort(together)[:: 1 + len(together) // MOST_TRIED]
    likely = np.unique(some[:, np.newaxis] / np.arange(1, MOST_IN_ONE + 1))
    saves = together / likely[:, np.newaxis]
    fits = likely[np.mean(np.abs(saves - np.maximum(1.0, np.round(saves))), axis=1) <= OFF]
    fits = fits[fits >= about / MOST_IN_ONE]
    return float(fits[-1]) if len(fits) else about


def _unexplained(extra: Column, place: Places) -> Column:
    """By number of the longest spans, from one on, were each a save of as many bytes: the squares of what that leaves
    unexplained of what was written when, beside what is the same for all numbers.

    Args:
        place: the stretch that each span lies in, the longest first.
    """
    counts = np.zeros(len(extra))
    products, squares = np.zeros(len(place)), np.zeros(len(place))
    product = square = 0.0
    for number, at in enumerate(place.tolist()):
        product += extra[at]
        square += 2 * counts[at] + 1
        counts[at] += 1
        products[number], squares[number] = product, square
    each = float(extra[counts > 0].sum()) / np.arange(1, len(place) + 1)
    unexplained: Column = each**2 * squares - 2 * each * products
    return unexplained


ReadWritten = Callable[[float], Sequence[Written]]
"""Since an instant: by the process of the rank, and by others that it may wait for while they write."""


@dataclass(frozen=True, slots=True, eq=False)
class Pauses:
    """Of the steps, which hold one."""

    is_pause: Mask
    lasted_us: Column
    """Of each step, what it went on for beyond the usual; 0: it holds none."""
    written_bytes: Column
    """In each that holds a checkpoint; 0: it holds none, or that is not known."""

    def paused_us(self, steps: Mask) -> float:
        return float(np.sum(self.lasted_us[steps & self.is_pause]))

    def checkpoints(self, steps: Mask) -> Checkpoints | None:
        wrote = steps & self.is_pause & (self.written_bytes > 0)
        count = int(np.count_nonzero(wrote))
        if not count:
            return None
        return Checkpoints(count, float(np.sum(self.lasted_us[wrote])), float(np.mean(self.written_bytes[wrote])))


def pauses_in(rows: StepRows, read_written: ReadWritten) -> Pauses:
    """``rows``: consecutive steps of one loader. It is read what was written only where that may show more."""
    rest_us = or_zero(rows.step_us - rows.data_wait_us)
    usual_us = _usual_us(rows)
    is_pause, may_write = _goes_on(rows, usual_us), _may_write(rows, usual_us)
    written = np.zeros(len(rows))
    if _beyond_us(rest_us, may_write)[may_write].sum() > ASKED_FRACTION * float(np.nansum(rows.step_us)):
        written[may_write] = _written_in(rows, may_write, read_written)
        is_pause = is_pause | (written > 0)
    return Pauses(is_pause, _beyond_us(rest_us, is_pause), written)


def checkpoints_in(
    begin_us: Column, end_us: Column, lasted_us: Column, read_written: ReadWritten
) -> Checkpoints | None:
    """In spans beside the steps, ascending. ``lasted_us``: what of each nothing else is known to take."""
    is_long = lasted_us >= LEAST_WRITING_US
    if not is_long.any():
        return None
    begin_us, end_us = begin_us[is_long], end_us[is_long]
    written = most_written(read_written(float(begin_us[0])), begin_us, end_us)
    wrote = written >= LEAST_WRITTEN_BYTES
    count = int(np.count_nonzero(wrote))
    lasted = float(np.sum(lasted_us[is_long][wrote]))
    return Checkpoints(count, lasted, float(np.mean(written[wrote]))) if count else None


def goes_on(rows: StepRows) -> Mask:
    """Which steps go on far beyond what is usual after their wait: nothing waits for data meanwhile, on any rank."""
    return _goes_on(rows, _usual_us(rows))


def _goes_on(rows: StepRows, usual_us: float) -> Mask:
    return _longer(rows, max(LEAST_PAUSE_US, MANY_STEPS * usual_us), RARE)


def _may_write(rows: StepRows, usual_us: float) -> Mask:
    return _longer(rows, max(LEAST_WRITING_US, TWO_STEPS * usual_us), OFTEN)


def _usual_us(rows: StepRows) -> float:
    """NaN: no step is known."""
    known = rows.step_us[np.isfinite(rows.step_us)]
    return float(np.median(known)) if len(known) else math.nan


def _longer(rows: StepRows, least_us: float, often: float) -> Mask:
    """``often``: share of the steps up to which they are distinguished from the usual ones; of more, none is."""
    rest_us = rows.step_us - rows.data_wait_us
    known = int(np.count_nonzero(np.isfinite(rest_us)))
    if not known:
        return np.zeros(len(rows), dtype=bool)
    is_long = rest_us >= least_us
    return is_long if np.count_nonzero(is_long) <= max(1.0, often * known) else np.zeros(len(rows), dtype=bool)


def _beyond_us(rest_us: Column, is_long: Mask) -> Column:
    """What each long step goes on for beyond one that is not; 0 of the others."""
    if not is_long.any():
        return np.zeros(len(rest_us))
    usual = rest_us[~is_long & (rest_us > 0)]
    return np.where(is_long, np.maximum(0.0, rest_us - (float(np.median(usual)) if len(usual) else 0.0)), 0.0)


def _written_in(rows: StepRows, steps: Mask, read_written: ReadWritten) -> Column:
    """Of the ``steps``, each that holds a checkpoint; of several processes, by the one that wrote most."""
    begin_us = (rows.start_us + rows.data_wait_us)[steps]
    end_us = (rows.start_us + rows.step_us)[steps]
    most = most_written(read_written(float(begin_us[0])), begin_us, end_us)
    return np.where(most >= LEAST_WRITTEN_BYTES, most, 0.0)


def most_written(processes: Iterable[Written], begin_us: Column, end_us: Column) -> Column:
    """In each span, by the process that wrote most in it."""
    found = [each.within(begin_us, end_us) for each in processes]
    return np.max(found, axis=0) if found else np.zeros(len(begin_us))
