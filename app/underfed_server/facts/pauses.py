"""What a program did while it trained with no batch of a loader: validation, checkpoints, starting anew.

Nothing waits for that loader meanwhile, and its steps show it only as one that is long, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from underfed_server.facts.long_steps import (
    LEAST_PAUSE_US,
    LEAST_WRITING_US,
    LEAST_WRITTEN_BYTES,
    MANY_STEPS,
    TWO_STEPS,
    Written,
    most_written,
)
from underfed_server.facts.record import between_epochs, is_read_ahead
from underfed_server.facts.restarts import MOST_EPOCHS, restart_spans
from underfed_server.measurements import Column, Columns
from underfed_server.model import Diagnosis, EpochInfo, Pause, PauseKind
from underfed_server.store.columns.ladder import Rollup, Stat
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.reading.details import read_epochs
from underfed_server.store.reading.instants import index_at
from underfed_server.store.reading.rows import read_after
from underfed_server.store.reading.samplers import read_samplers
from underfed_server.store.reading.series import read_series
from underfed_server.store.reading.tracks import Reader, Track
from underfed_server.store.runs.diagnoses import read_diagnosis

MOST_LONG_STEPS, MOST_ROWS = 24, 4_096
"""Of a request, looked at one by one: all of so many steps; of more, the longest, in buckets of so many steps. In
larger ones a pause is too short to be seen, and reading them takes long."""

SEEN_FRACTION = 1 / 2_000
"""Of what is shown, below which a pause is narrower than a third of a pixel."""

SAMPLES_AROUND = 4
"""Of the process, one a second, before and after a pause: what is usual to write."""

APART_US, MOST_TOGETHER_US = 60e6, 3_600e6
"""Pauses that are closer are read together, as far as they lie within an hour."""


ENDS = ("start_us", "end_us")


@dataclass(frozen=True, slots=True)
class Paused:
    """In the buckets of a loader's steps."""

    pauses: tuple[Pause, ...]
    """In order of time, each within what is shown."""
    within: Stat
    """What of the bucket's steps is no step's work. A step with a pass over another loader in it has no time at all."""
    end_us: float
    """When the last step ended."""


def read_paused(reader: Reader, run_id: str, rank: int, loader: str, steps: Rollup) -> Paused | None:
    """``steps``: with ``step_us`` and ``data_wait_us``. ``None``: no step of them has ended."""
    step, wait = steps.stats.get("step_us"), steps.stats.get("data_wait_us")
    if step is None or wait is None:
        return None
    epochs = read_epochs(reader.connection, run_id, rank, loader, MOST_EPOCHS)
    passes = list(_passes(reader, run_id, rank, loader, epochs))
    begin = steps.first_us
    counted = step.count > 0
    if not counted.any():
        return None
    typical = float(np.median(step.sum[counted] / step.count[counted]))
    work = float(np.median((step.sum - wait.sum)[counted] / step.count[counted]))
    least = max(LEAST_PAUSE_US, MANY_STEPS * typical)
    shortest = min(least, max(LEAST_WRITING_US, TWO_STEPS * typical))
    rows = _rows_of_long_steps(reader, run_id, rank, loader, steps, shortest)
    rests = [rest for single in rows for rest in _rests(single, passes, max(0.0, work), shortest)]
    long = [each for each in _named(reader, run_id, rank, rests) if each.kind == "checkpoint" or _us(each) >= least]
    restarts = _restarts(reader, run_id, rank, loader)
    between = [each for gap in _gaps(epochs) for each in _without(gap, [*passes, *restarts]) if _us(each) >= least]
    programs = [*long, *_named(reader, run_id, rank, between)]
    taken = np.minimum(_overlap(long, begin, np.append(begin[1:], np.inf)), np.maximum(0.0, step.sum - wait.sum))
    after = [each for each in (*restarts, *_gaps(epochs)) if each.start_us > begin[-1]]
    end_us = float(begin[-1] + max(step.sum[-1], wait.sum[-1]) + sum(map(_us, _joined(after))))
    # What came before the first step of all is shown where that is.
    begin_us = begin[0] if steps.first_index[0] else -np.inf
    least_us = SEEN_FRACTION * (end_us - float(begin[0]))
    known = (each for each in (*passes, *restarts, *programs) if _us(each) >= least_us)
    shown = [each for each in known if each.end_us > begin_us and each.start_us < end_us]
    unknown = np.full(len(steps), np.nan)
    pauses = tuple(sorted(shown, key=lambda each: each.start_us))
    return Paused(pauses, Stat(step.count, taken, unknown, unknown), end_us)


def _passes(reader: Reader, run_id: str, rank: int, loader: str, own: Sequence[EpochInfo]) -> Iterator[Pause]:
    """Over loaders of other loops, by the last verdict's lines."""
    diagnosis = read_diagnosis(reader.connection, run_id)
    lines = {line.loader: line for line in diagnosis.loaders} if diagnosis else {}
    if loader not in lines or is_read_ahead(own):
        return
    for name, line in lines.items():
        if line.loop == lines[loader].loop:
            continue
        epochs = read_epochs(reader.connection, run_id, rank, name, MOST_EPOCHS)
        if is_read_ahead(epochs):
            continue
        kind: PauseKind = "validation" if line.role == "validation" else "loader"
        label = _pass_label(name, kind, diagnosis)
        for each in epochs:
            if each.end_us is not None and each.end_us > each.start_us:
                over = Pause(kind=kind, label=label, loader=name, start_us=each.start_us, end_us=each.end_us)
                yield from _without(over, [one for one in _spans(own) if _lies_in(one, over)])


def _pass_label(name: str, kind: PauseKind, diagnosis: Diagnosis | None) -> str:
    """By its name only where there are several."""
    alike = [each for each in diagnosis.loaders if each.role == "validation"] if diagnosis else []
    return "validation" if kind == "validation" and len(alike) < 2 else name


def _spans(epochs: Sequence[EpochInfo]) -> list[Pause]:
    return [_program(each.start_us, each.end_us) for each in epochs if each.end_us is not None]


def _lies_in(one: Pause, other: Pause) -> bool:
    return other.start_us <= one.start_us and one.end_us <= other.end_us


def _gaps(epochs: Sequence[EpochInfo]) -> list[Pause]:
    """Between epochs."""
    return [_program(end_us, after.start_us) for end_us, after in between_epochs(epochs)]


def _program(start_us: float, end_us: float) -> Pause:
    return Pause(kind="program", label="pause of the program", start_us=int(start_us), end_us=int(end_us))


def _restarts(reader: Reader, run_id: str, rank: int, loader: str) -> list[Pause]:
    """From what a process recorded last until the first step of the next one."""
    return [
        Pause(kind="restart", label="started again", start_us=int(start_us), end_us=int(end_us))
        for start_us, end_us in restart_spans(reader, run_id, rank, loader)
    ]


def _rows_of_long_steps(
    reader: Reader, run_id: str, rank: int, loader: str, steps: Rollup, least_us: float
) -> Iterator[Rollup]:
    """The single steps of buckets in which one goes on for so long after its wait; all of few steps."""
    step, wait = steps.stats["step_us"], steps.stats["data_wait_us"]
    rest = np.nan_to_num(step.max - np.fmin(wait.max, step.max))
    if not (rest >= least_us).any():
        return
    if steps.rows.sum() <= MOST_ROWS:
        yield from _single(reader, run_id, rank, loader, steps, 0, len(steps))
        return
    rest[steps.rows > MOST_ROWS] = 0.0
    longest = np.argsort(-rest)[:MOST_LONG_STEPS]
    for place in sorted(longest[rest[longest] >= least_us].tolist()):
        yield from _single(reader, run_id, rank, loader, steps, place, place + 1)


def _single(
    reader: Reader, run_id: str, rank: int, loader: str, steps: Rollup, place: int, until: int
) -> Iterator[Rollup]:
    """The steps of buckets from ``place`` until another, one by one."""
    found = read_series(
        reader, run_id, rank, steps_lane(loader), names=["step_us", "data_wait_us"],
        buckets=2 * int(steps.rows[place:until].sum()) + 1, low=int(steps.first_index[place]),
        high=int(steps.first_index[until]) if until < len(steps) else None,
    )  # fmt: skip
    if found is not None:
        yield found


def _rests(rows: Rollup, passes: Sequence[Pause], work_us: float, least_us: float) -> Iterator[Pause]:
    """What long steps go on with after their work; none where retention deleted the single steps."""
    step, wait = rows.stats["step_us"], rows.stats["data_wait_us"]
    rests = step.sum - wait.sum
    # Of buckets the mean has a part of each pause in it.
    work_us = max(0.0, min(work_us, float(np.median(rests[rows.rows == 1])))) if (rows.rows == 1).any() else work_us
    for place in np.flatnonzero((rests >= least_us) & (rows.rows == 1)).tolist():
        asked = float(rows.first_us[place])
        # The work on the batch comes first: a checkpoint is of what it gave.
        pause = _program(asked + wait.sum[place] + work_us, asked + step.sum[place])
        yield from (each for each in _without(pause, passes) if _us(each) >= least_us - work_us)


def _named(reader: Reader, run_id: str, rank: int, pauses: Sequence[Pause]) -> list[Pause]:
    """Each as a checkpoint in which the process wrote as much as one."""
    tracks = reader.tracks(run_id, rank, "process")
    is_alone = len(read_samplers(reader, run_id).hostnames) == 1
    return [each for near in _near(pauses) for each in _named_together(reader, tracks, near, is_alone=is_alone)]


def _near(pauses: Sequence[Pause]) -> Iterator[list[Pause]]:
    """In groups that lie close together, in order of time."""
    group: list[Pause] = []
    for each in sorted(pauses, key=lambda one: one.start_us):
        is_far = group and each.start_us - group[-1].end_us > APART_US
        if is_far or (group and each.end_us - group[0].start_us > MOST_TOGETHER_US):
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _named_together(
    reader: Reader, tracks: Sequence[Track], pauses: Sequence[Pause], *, is_alone: bool
) -> Iterator[Pause]:
    begin_us, end_us = (np.array([getattr(each, name) for each in pauses], dtype=np.float64) for name in ENDS)
    read = (_written(reader, track, pauses[0].start_us, pauses[-1].end_us) for track in tracks)
    processes = (Written.of(*each, is_alone=is_alone) for each in read if each is not None)
    for pause, written in zip(pauses, most_written(processes, begin_us, end_us), strict=True):
        is_checkpoint = written >= LEAST_WRITTEN_BYTES
        checkpoint = {"kind": "checkpoint", "label": "checkpoint", "written_bytes": round(written)}
        yield pause.model_copy(update=checkpoint) if is_checkpoint else pause


def _written(reader: Reader, track: Track, begin_us: float, end_us: float) -> tuple[Column, Column] | None:
    """When the process of the track was sampled, and what it had written. A chunk of its samples at a time is read."""
    after = index_at(reader, [track], begin_us - SAMPLES_AROUND * 1e6) - track.shift_index - 1.0
    left = 2 * SAMPLES_AROUND + int((end_us - begin_us) / 1e6)
    found: list[Columns] = []
    while left > 0 and (rows := read_after(reader, track, after, left, ["at_us", "written_bytes"])):
        after, columns = rows
        found.append(columns)
        left -= len(columns["at_us"])
    if not found:
        return None
    at_us, counted = (np.concatenate([each[name] for each in found]) for name in ("at_us", "written_bytes"))
    return at_us, counted


def _us(pause: Pause) -> float:
    return float(pause.end_us - pause.start_us)


def _overlap(pauses: Sequence[Pause], begin_us: Column, until_us: Column) -> Column:
    """Of each stretch, what lies in one of the pauses or another."""
    found = np.zeros(len(begin_us))
    for each in _joined(pauses):
        found += np.maximum(0.0, np.minimum(until_us, each.end_us) - np.maximum(begin_us, each.start_us))
    return found


def _joined(pauses: Sequence[Pause]) -> list[Pause]:
    """Those that overlap, as one."""
    found: list[Pause] = []
    for each in sorted(pauses, key=lambda one: one.start_us):
        if found and each.start_us <= found[-1].end_us:
            found[-1] = found[-1].model_copy(update={"end_us": max(found[-1].end_us, each.end_us)})
        else:
            found.append(each)
    return found


def _without(pause: Pause, others: Sequence[Pause]) -> list[Pause]:
    """What of it lies in none of the others."""
    found, begin_us = [], pause.start_us
    for each in _joined([each for each in others if each.end_us > pause.start_us and each.start_us < pause.end_us]):
        if each.start_us > begin_us:
            found.append(pause.model_copy(update={"start_us": begin_us, "end_us": each.start_us}))
        begin_us = max(begin_us, each.end_us)
    if begin_us < pause.end_us:
        found.append(pause.model_copy(update={"start_us": begin_us}))
    return found
