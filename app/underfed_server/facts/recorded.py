"""What all loaders of one rank recorded, side by side: they share the training thread, and the time of one's ``next()``
is no work of another's step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from underfed_server.facts.long_steps import ReadWritten, Written, checkpoints_in, pauses_in
from underfed_server.facts.record import Checkpoints, Mask, between_epochs, is_read_ahead
from underfed_server.measurements import Column, StepRows, chosen, or_zero
from underfed_server.model import EpochInfo
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.columns.stall import stall_us
from underfed_server.store.reading.changed_settings import ChangedSettings, read_changed_settings
from underfed_server.store.reading.details import read_epochs_of
from underfed_server.store.reading.rows import read_rows
from underfed_server.store.reading.tracks import Reader
from underfed_server.store.reading.tunings import Tunings, tuned_of

LITTLE_FRACTION = 0.01
"""Share of step time: a verdict does not depend on whether so little was work or another loader's."""

NEWEST_EPOCHS = 200
"""Of each loader of a rank, and more where its newest steps are of more."""


@dataclass(frozen=True, slots=True, eq=False)
class Spent:
    """Time that a thread spent on something, on the run's clock: how much of it before each of some instants."""

    at_us: Column
    """Ascending."""
    before_us: Column

    def between(self, begin_us: Column, end_us: Column) -> Column:
        if not len(self.at_us):
            return np.zeros(len(begin_us))
        return np.interp(end_us, self.at_us, self.before_us) - np.interp(begin_us, self.at_us, self.before_us)


def spent(begin_us: Column, end_us: Column, share: Column) -> Spent:
    """On spans that may lie within each other, of which the outer one counts. ``share``: what counts of each span."""
    order = np.lexsort((-end_us, begin_us))
    begin_us, end_us, share = begin_us[order], end_us[order], share[order]
    seen_us = np.maximum.accumulate(end_us)
    begin_us = np.maximum(begin_us, np.concatenate((begin_us[:1], seen_us[:-1])))
    lasted_us = np.maximum(0.0, end_us - begin_us) * share
    at_us = np.column_stack((begin_us, np.maximum(begin_us, end_us))).ravel()
    before_us = np.column_stack((np.cumsum(lasted_us) - lasted_us, np.cumsum(lasted_us))).ravel()
    return Spent(at_us, before_us)


@dataclass(frozen=True, slots=True, eq=False)
class RecordedSteps:
    """The newest steps of one loader of a rank, as they were recorded, and their epochs, oldest first."""

    rows: StepRows
    epochs: tuple[EpochInfo, ...]
    changed: ChangedSettings | None = None
    """Since when they are of the present settings, where earlier ones are of others."""
    searched: Sequence[tuple[int, int]] = ()
    """Its steps, from one until another, in which it tried settings."""

    @property
    def present_epochs(self) -> tuple[EpochInfo, ...]:
        """Of the present settings. How an epoch began that others were used in before is not known of these."""
        changed = self.changed
        if changed is None:
            return self.epochs
        since = tuple(each for each in self.epochs if each.start_us >= changed.start_us)
        before = [each for each in self.epochs if each.start_us < changed.start_us]
        if not changed.is_live or not before or (before[-1].end_us or math.inf) <= changed.start_us:
            return since
        return (before[-1].model_copy(update={"iterator_us": None, "startup_us": None, "sampler_us": None}), *since)

    @property
    def is_read_ahead(self) -> bool:
        return is_read_ahead(self.epochs)

    @property
    def ends_us(self) -> Column:
        """When each step ended; NaN: not seen, or a pause."""
        return self.rows.start_us + self.rows.step_us

    def is_asked_between(self, begin_us: float, end_us: float) -> bool:
        """Whether one of the steps was requested after ``begin_us`` and before ``end_us``."""
        asked_us = self.rows.start_us
        return bool(np.searchsorted(asked_us, begin_us, side="right") < np.searchsorted(asked_us, end_us))


def read_recorded(
    reader: Reader, run_id: str, places: Iterable[tuple[int, str]], last: int, tunings: Tunings
) -> dict[tuple[int, str], RecordedSteps]:
    """The newest ``last`` steps of each of these ranks and loaders. ``tunings``: what they said of tuning them."""
    rows = {
        (rank, loader): read_rows(StepRows, reader, run_id, rank, steps_lane(loader), last) for rank, loader in places
    }
    newest = {place: max(NEWEST_EPOCHS, len(np.unique(each.epoch_index)) + 1) for place, each in rows.items()}
    epochs = read_epochs_of(reader.connection, run_id, newest)
    found = {}
    for (rank, loader), own in rows.items():
        tuned = tuned_of(tunings, rank, loader)
        changed = (tuned.changed if tuned else None) or read_changed_settings(reader, run_id, rank, loader)
        found[rank, loader] = RecordedSteps(own, epochs[rank, loader], changed, tuned.searched if tuned else ())
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """The judged steps of one loader, separated from what other loaders of the rank took meanwhile."""

    edges_us: float
    """What the epochs that begin in the rows, judged or not, cost beside their steps."""
    known_edges_us: float
    """Of these epochs, what is known of the others too: constructing iterators, and stopping workers."""
    steps: StepRows
    """The judged ones, with their edges."""
    others_wait_us: Column | None
    """``None``: the rank has no other loader."""
    others_stall_us: float
    pausing_us: float
    """Of steps that are not judged, as the program did something else in them: writing a checkpoint, an evaluation."""
    paused_us: float
    """The part of it that their own work and wait do not take."""
    checkpoints: Checkpoints | None
    """``None``: none was distinguished from what else a program may do."""
    between_epochs: Checkpoints | None
    """Likewise, after one epoch and before the next: in no step."""


def nothing_known(_since_us: float) -> Sequence[Written]:
    return ()


def apart(
    recorded: Mapping[str, RecordedSteps], loader: str, warmup_steps: int, read_written: ReadWritten = nothing_known
) -> Apart:
    """``recorded``: of all loaders of the rank."""
    own = recorded[loader]
    # A thread that reads ahead waits beside the training, not in its steps.
    is_alone = own.is_read_ahead
    others = [each for name, each in recorded.items() if name != loader and not (is_alone or each.is_read_ahead)]
    rows, waited = own.rows, _spent_by(others)
    edges_us = _edges_us(own, waited)
    first = warmup_steps + (own.changed.step_index if own.changed else 0)
    keep = np.isfinite(rows.step_us) & np.isfinite(rows.data_wait_us) & (rows.step_index >= first)
    keep &= ~_pauses(own, others)
    keep &= _between_searches(own, keep)
    pauses, in_question = pauses_in(rows, read_written), keep
    is_pause = keep & pauses.is_pause
    keep = keep & ~is_pause
    rest_from_us = rows.start_us + rows.data_wait_us
    keep &= _is_known(own, others, keep)
    others_wait_us = waited.between(rest_from_us, own.ends_us)[keep]
    stalled_us = _spent_by(others, is_stall=True).between(rest_from_us[keep], own.ends_us[keep])
    return Apart(
        edges_us=float(np.sum(edges_us)),
        known_edges_us=_known_edges_us(own),
        steps=_with_edges(rows, keep, edges_us),
        others_wait_us=others_wait_us if others else None,
        others_stall_us=float(np.mean(stalled_us)) if len(stalled_us) else 0.0,
        pausing_us=float(np.sum(rows.step_us[is_pause])),
        paused_us=pauses.paused_us(in_question),
        checkpoints=pauses.checkpoints(in_question),
        between_epochs=_between_epochs(own, others, read_written),
    )  # fmt: skip


def _between_epochs(own: RecordedSteps, others: list[RecordedSteps], read_written: ReadWritten) -> Checkpoints | None:
    """Passes over other loaders left out."""
    known = set(own.rows.epoch_index.tolist())
    gaps = [
        (end_us, after.start_us) for end_us, after in between_epochs(own.present_epochs) if after.epoch_index in known
    ]
    if not gaps:
        return None
    begin_us, end_us = (np.array(column, dtype=np.float64) for column in zip(*gaps, strict=True))
    passes = [(each.start_us, each.end_us) for other in others for each in other.epochs if each.end_us is not None]
    taken_us = np.zeros(len(gaps))
    if passes:
        first_us, last_us = (np.array(column, dtype=np.float64) for column in zip(*passes, strict=True))
        taken_us = spent(first_us, last_us, np.ones(len(passes))).between(begin_us, end_us)
    return checkpoints_in(begin_us, end_us, end_us - begin_us - taken_us, read_written)


def _spent_by(loaders: list[RecordedSteps], *, is_stall: bool = False) -> Spent:
    """In their requests, in constructing their iterators and in ending their epochs. ``is_stall``: the part of their
    waits that the device's clock confirms.
    """
    spans = [span for each in loaders for span in _spans(each, is_stall=is_stall)]
    if not spans:
        return Spent(np.empty(0), np.empty(0))
    begin_us, end_us, share = (np.concatenate(column) for column in zip(*spans, strict=True))
    return spent(begin_us, end_us, share)


def _spans(recorded: RecordedSteps, *, is_stall: bool) -> list[tuple[Column, Column, Column]]:
    rows, epochs = recorded.rows, recorded.epochs
    share = _stalled_share(rows) if is_stall else np.ones(len(rows))
    found = [(rows.start_us, rows.start_us + rows.data_wait_us, share)]
    begun = [(each.start_us, each.start_us + each.iterator_us) for each in epochs if each.iterator_us]
    ended = [(each.end_us - us, each.end_us) for each in epochs if each.end_us and (us := each.ending_us)]
    if edges := [*begun, *ended]:
        begin_us, end_us = (np.array(column, dtype=np.float64) for column in zip(*edges, strict=True))
        found.append((begin_us, end_us, np.ones(len(edges))))
    return found


def _stalled_share(rows: StepRows) -> Column:
    wait = rows.data_wait_us
    stalled = stall_us(wait, rows.gpu_idle_us, rows.queue_depth)
    return np.clip(np.divide(stalled, wait, out=np.zeros(len(wait)), where=wait > 0), 0.0, 1.0)


def _is_known(own: RecordedSteps, others: list[RecordedSteps], keep: Mask) -> Mask:
    """Which steps began after the first of the others' steps that were read: of those before, it is not known what the
    others took. So it is with a loader that the loop asks several times a step.
    """
    rows, is_known = own.rows, np.ones(len(own.rows), dtype=bool)
    for other in others:
        taken = _spent_by([other]).between(rows.start_us + rows.data_wait_us, own.ends_us)[keep]
        is_cut = len(other.rows) and other.rows.step_index[0] > 0
        if is_cut and np.sum(taken) > LITTLE_FRACTION * np.sum(rows.step_us[keep]):
            is_known &= rows.start_us >= other.rows.start_us[0]
    return is_known


FEW_STEPS = 20
"""Since a search, from which a verdict can be given of them alone (CONTRACT)."""


def _between_searches(own: RecordedSteps, keep: Mask) -> Mask:
    """The steps since the newest search, or those before it while there are few: what is kept meanwhile is the same."""
    index = own.rows.step_index
    if not own.searched:
        return np.ones(len(index), dtype=bool)
    edges = [-math.inf, *(step for span in own.searched for step in span), math.inf]
    spans = [keep & (index >= begin) & (index < end) for begin, end in zip(edges[::2], edges[1::2], strict=True)]
    enough = [span for span in spans if np.count_nonzero(span) >= FEW_STEPS]
    return enough[-1] if enough else max(spans, key=np.count_nonzero)


def _pauses(own: RecordedSteps, others: list[RecordedSteps]) -> Mask:
    """Steps that contain a whole pass over another loader after their own wait: a validation between two batches."""
    rows, is_pause = own.rows, np.zeros(len(own.rows), dtype=bool)
    passes = [(each.start_us, each.end_us) for other in others for each in other.epochs if each.end_us is not None]
    if not passes or not len(rows):
        return is_pause
    begin_us, end_us = (np.array(column, dtype=np.float64) for column in zip(*passes, strict=True))
    step = np.searchsorted(rows.start_us, begin_us, side="right") - 1
    is_within = (step >= 0) & (begin_us >= (rows.start_us + rows.data_wait_us)[step]) & (end_us <= own.ends_us[step])
    is_pause[step[is_within]] = True
    return is_pause


def _edges_us(own: RecordedSteps, others: Spent) -> Column:
    """What an epoch costs beside its steps, counted to its first: from ``iter(loader)`` to the first request, in which
    workers are started, and from the last step to the end of the request that finds no more, in which they are stopped.

    It belongs to no step as recorded, and the loop waits for it as it does for a batch. What other loaders took of it
    is theirs.
    """
    rows, known = own.rows, {epoch.epoch_index: epoch for epoch in own.epochs}
    edges_us, wait_us = np.zeros(len(rows)), or_zero(rows.data_wait_us)
    for position in np.flatnonzero(rows.batch_index == 0):
        epoch = known.get(int(rows.epoch_index[position]))
        if epoch is not None:
            begun_us = max(0.0, (epoch.startup_us or epoch.iterator_us or 0) - float(wait_us[position]))
            ending_us = epoch.ending_us or 0
            begin_us = np.array([epoch.start_us, (epoch.end_us or 0) - ending_us])
            theirs_us = others.between(begin_us, begin_us + np.array([begun_us, ending_us]))
            edges_us[position] = max(0.0, begun_us + ending_us - float(np.sum(theirs_us)))
    return edges_us


def _known_edges_us(own: RecordedSteps) -> float:
    begun = set(own.rows.epoch_index[own.rows.batch_index == 0])
    return sum((each.iterator_us or 0) + (each.ending_us or 0) for each in own.epochs if each.epoch_index in begun)


def _with_edges(rows: StepRows, keep: Mask, edges_us: Column) -> StepRows:
    """The judged steps, each with what its epoch cost beside its steps."""
    edged = replace(
        rows,
        start_us=rows.start_us - edges_us,
        step_us=rows.step_us + edges_us,
        data_wait_us=rows.data_wait_us + edges_us,
        gpu_idle_us=rows.gpu_idle_us + edges_us,
    )
    return chosen(edged, keep)
