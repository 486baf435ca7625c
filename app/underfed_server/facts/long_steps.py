"""Steps that go on far beyond what is usual after their wait: the program does something else in them.

A long one is a pause by itself. A shorter one, or one of many, may be a step's own work, such as an optimizer's after
accumulated gradients or a wait for queued kernels: it is a pause where the process was seen to write meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from underfed_server.facts.record import Checkpoints, Mask
from underfed_server.measurements import Column, StepRows

LEAST_PAUSE_US, MANY_STEPS = 1e6, 5.0
"""The program does something else where a step goes on for a second, and for so many usual steps, after its wait."""

RARE = 0.05
"""Share of the steps up to which such ones are pauses: a loop in which more are long is one of long steps."""

LEAST_WRITING_US, TWO_STEPS = 20e3, 2.0
"""A step in which the process writes as much as a checkpoint is a pause from so long on, and from so many usual steps.
Own choice: of less, the step's own work is not told apart."""

OFTEN = 0.5
"""Share of the steps up to which those are pauses: of more, the median step would be one of them."""

AS_LONG = 0.1
"""Of the longest step between two samples, from which another may have written what was written there: the same
checkpoint took 0.08 to 0.58 s on one disk (own study)."""

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
        """In each of some spans, from the last sample before it until the first after it, beyond what is usual outside
        of spans. What was written between two samples is shared by spans in proportion to their lengths; 0 of one that
        is much shorter than another there, and of what was not sampled.

        Args:
            begin_us, end_us: ascending, of spans that do not overlap.
        """
        usual = self._usual_rate(begin_us, end_us) if len(self.at_us) > 1 and len(begin_us) else None
        if usual is None:
            return np.zeros(len(begin_us))
        newest = len(self.at_us) - 1
        before = np.maximum(0, np.searchsorted(self.at_us, begin_us, side="right") - 1)
        after = np.minimum(newest, np.searchsorted(self.at_us, end_us))
        since_us, until_us = self.at_us[before], self.at_us[after]
        first = np.searchsorted(end_us, since_us, side="right")
        last = np.maximum(np.searchsorted(begin_us, until_us), first + 1)
        among = np.column_stack((first, last)).ravel()
        lasted_us = np.concatenate((end_us - begin_us, (0.0, 0.0)))  # reduceat looks beyond the last
        is_long = lasted_us[:-2] >= AS_LONG * np.maximum.reduceat(lasted_us, among)[::2]
        extra = self.bytes[after] - self.bytes[before] - usual * (until_us - since_us)
        ends_us = np.column_stack((begin_us, end_us)).ravel()
        spent_us = np.cumsum(lasted_us[:-2])
        passed_us = np.column_stack((spent_us - lasted_us[:-2], spent_us)).ravel()
        together_us = np.interp(until_us, ends_us, passed_us) - np.interp(since_us, ends_us, passed_us)
        share = lasted_us[:-2] / np.maximum(lasted_us[:-2], together_us)
        return np.where(is_long, np.maximum(0.0, extra) * share, 0.0)

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


ReadWritten = Callable[[float], Sequence[Written]]
"""Since an instant: by the process of the rank, and by others that it may wait for while they write."""


@dataclass(frozen=True, slots=True, eq=False)
class Pauses:
    """Of the steps, which hold one."""

    is_pause: Mask
    lasted_us: Column
    """Of each step, what it went on for beyond the usual."""
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
    """``rows``: consecutive steps of one loader. It is read what was written only where that may tell more."""
    rest_us = np.nan_to_num(rows.step_us - rows.data_wait_us)
    is_pause, may_write = goes_on(rows), _may_write(rows)
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
    return _longer(rows, LEAST_PAUSE_US, MANY_STEPS, RARE)


def _may_write(rows: StepRows) -> Mask:
    return _longer(rows, LEAST_WRITING_US, TWO_STEPS, OFTEN)


def _longer(rows: StepRows, least_us: float, steps: float, often: float) -> Mask:
    """``often``: share of the steps up to which they are told from the usual ones; of more, none is."""
    rest_us = rows.step_us - rows.data_wait_us
    known = int(np.count_nonzero(np.isfinite(rest_us)))
    if not known:
        return np.zeros(len(rows), dtype=bool)
    is_long = rest_us >= max(least_us, steps * float(np.nanmedian(rows.step_us)))
    return is_long if np.count_nonzero(is_long) <= max(1.0, often * known) else np.zeros(len(rows), dtype=bool)


def _beyond_us(rest_us: Column, is_long: Mask) -> Column:
    """What each step goes on for beyond one that is not long."""
    usual = rest_us[~is_long & (rest_us > 0)]
    return np.maximum(0.0, rest_us - (float(np.median(usual)) if len(usual) else 0.0))


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
