"""Pauses of a program, distinguished from long steps: by their length, and by what the process wrote meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.app.made_facts import made_rows
from tests.app.made_loops import Thread
from tests.app.store.posting import post
from underfed_server.facts.condense import condense
from underfed_server.facts.long_steps import Pauses, Written, pauses_in
from underfed_server.facts.pauses import read_paused
from underfed_server.facts.record import RankFacts
from underfed_server.measurements import Column, StepRows, chosen
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.reading.series import read_series
from underfed_server.store.store import Store

MS, MB = 1_000.0, 1e6
WORK_MS, WAIT_MS = 15.0, 1.0


def rows_of(pauses_ms: Sequence[float] | Column) -> StepRows:
    """Steps of a millisecond's wait, 15 ms of work, and what each pauses for."""
    paused_us = np.array(pauses_ms) * MS
    step_us = paused_us + (WORK_MS + WAIT_MS) * MS
    wait_us = np.full(len(step_us), WAIT_MS * MS)
    return made_rows(
        StepRows, len(step_us), start_us=np.cumsum(step_us) - step_us, step_us=step_us, data_wait_us=wait_us
    )


def sampled(rows: StepRows, written: Column, steady: float = 0.0, *, is_alone: bool = True) -> Written:
    """Once a second, of a process that wrote ``written`` bytes at the end of each step, and ``steady`` a second."""
    end_us = rows.start_us + rows.step_us
    at_us = np.arange(-2e6, float(end_us[-1]) + 3e6, 1e6)
    counted = np.concatenate(([0.0], np.cumsum(written)))[np.searchsorted(end_us, at_us, side="right")]
    return Written.of(at_us, counted + steady * (at_us - at_us[0]) / 1e6, is_alone=is_alone)


def found_in(rows: StepRows, *written: Written) -> Pauses:
    return pauses_in(rows, lambda _since_us: written)


@pytest.mark.parametrize(
    ("every", "pause_ms"),
    [(50, 1_500.0), (50, 320.0), (8, 100.0), (4, 200.0), (100, 900.0)],
    ids=["rare_and_long", "below_a_second", "every_eighth_step", "every_fourth", "not_quite_a_second"],
)
@pytest.mark.parametrize("steady", [0.0, 3 * MB])
def test_all_of_what_checkpoints_take_is_counted(every: int, pause_ms: float, steady: float) -> None:
    saves = np.arange(1_200) % every == every - 1
    rows = rows_of(np.where(saves, pause_ms, 0.0))
    pauses = found_in(rows, sampled(rows, np.where(saves, 40 * MB, 0.0), steady))
    everywhere = np.ones(len(rows), dtype=bool)
    assert pauses.paused_us(everywhere) == pytest.approx(np.count_nonzero(saves) * pause_ms * MS, rel=0.01)
    known = pauses.checkpoints(everywhere)
    assert known is not None
    assert known.count == np.count_nonzero(saves)
    assert known.mean_bytes == pytest.approx(40 * MB, rel=0.15)


def test_pauses_of_every_length_are_counted_together() -> None:
    """Of saving that takes now less than a second and now more, not the longer ones alone."""
    lengths = iter([1_300.0, 700.0, 1_100.0, 900.0, 400.0, 1_500.0, 800.0, 600.0])
    pauses_ms = [next(lengths) if step % 100 == 99 else 0.0 for step in range(800)]
    rows = rows_of(pauses_ms)
    pauses = found_in(rows, sampled(rows, np.where(np.array(pauses_ms) > 0, 200 * MB, 0.0)))
    share = pauses.paused_us(np.ones(800, dtype=bool)) / float(np.sum(rows.step_us))
    assert share == pytest.approx(sum(pauses_ms) * MS / float(np.sum(rows.step_us)), rel=0.01)


def test_what_is_saved_last_is_not_what_is_usual() -> None:
    """The loop ends with a checkpoint, in a step whose end is not seen."""
    saves = np.arange(800) % 50 == 49
    rows = rows_of(np.where(saves, 320.0, 0.0))
    seen = chosen(rows, np.arange(799))
    pauses = found_in(seen, sampled(rows, np.where(saves, 100 * MB, 0.0)))
    assert np.array_equal(np.flatnonzero(pauses.is_pause), np.flatnonzero(saves)[:-1])


@pytest.mark.parametrize("pause_ms", [100.0, 900.0])
def test_longer_steps_in_which_nothing_is_written_are_steps(pause_ms: float) -> None:
    """An optimizer's after accumulated gradients, or a wait for all kernels that were queued."""
    rows = rows_of(np.where(np.arange(800) % 8 == 7, pause_ms, 0.0))
    nothing = np.zeros(800)
    assert not found_in(rows, sampled(rows, nothing)).is_pause.any()
    sends = sampled(rows, nothing, steady=500 * MB, is_alone=False)
    assert not found_in(rows, sends).is_pause.any(), "gradients are sent in all of them"
    assert not found_in(rows).is_pause.any(), "nor where it was not sampled"


def test_what_is_written_all_the_time_is_no_checkpoint() -> None:
    rows = rows_of(np.where(np.arange(800) % 200 == 199, 900.0, 0.0))
    assert not found_in(rows, sampled(rows, np.zeros(800), steady=500 * MB)).is_pause.any()


def test_long_steps_beside_a_checkpoint_are_none() -> None:
    saves, updates = np.arange(800) % 200 == 199, np.arange(800) % 4 == 1
    rows = rows_of(np.where(saves, 2_000.0, np.where(updates, 60.0, 0.0)))
    pauses = found_in(rows, sampled(rows, np.where(saves, 300 * MB, 0.0)))
    assert np.array_equal(pauses.is_pause, saves)


@pytest.mark.parametrize(("every", "save_ms"), [(20, 60.0), (50, 45.0)])
def test_a_save_is_distinguished_from_other_long_steps_of_its_second(every: int, save_ms: float) -> None:
    """Steps that a busy machine holds up are about as long, and the count of what was written is read once a second."""
    numbers = np.arange(1_500)
    saves, held_up = numbers % every == every - 1, numbers % 7 == 3
    lasted = np.where(saves, save_ms + numbers % 11, np.where(held_up, 20.0 + 3.0 * (numbers % 10), 0.0))
    rows = rows_of(lasted)
    pauses = found_in(rows, sampled(rows, np.where(saves, 20 * MB, 0.0)))
    known = pauses.checkpoints(np.ones(len(rows), dtype=bool))
    assert known is not None
    assert known.count == pytest.approx(np.count_nonzero(saves), rel=0.05)
    assert known.us == pytest.approx(float(np.sum(lasted[saves])) * MS, rel=0.05)
    assert known.mean_bytes == pytest.approx(20 * MB, rel=0.05)


def test_a_rank_that_waits_for_the_one_that_writes_pauses_too() -> None:
    saves = np.arange(400) % 40 == 39
    rows = rows_of(np.where(saves, 500.0, 0.0))
    own, first = sampled(rows, np.zeros(400)), sampled(rows, np.where(saves, 90 * MB, 0.0))
    assert np.array_equal(found_in(rows, own, first).is_pause, saves)


def test_what_little_time_goes_to_is_not_asked_for() -> None:
    rows = rows_of(np.where(np.arange(1_000) == 500, 60.0, 0.0))

    def refused(_since_us: float) -> list[Written]:
        raise AssertionError("read")

    assert not pauses_in(rows, refused).is_pause.any()


def rank_that_saves(store: Store, every: int, save_ms: float) -> tuple[RankFacts, float]:
    """And the share of its loop's time that saving took."""
    thread, written, counted = Thread(train=1), [], 0.0
    thread.begin("train")
    spent_us = 0.0
    for step in range(400):
        thread.ask("train", WAIT_MS)
        thread.work(WORK_MS)
        if step % every == every - 1:
            thread.work(save_ms)
            counted += 50 * MB
            spent_us += save_ms * MS
        written.append((thread.now_us, counted))
    thread.exhaust("train")
    post(store, [thread.window(process=samples_of(written, thread.now_us))])
    facts = condense(store, "run-1", choose=lambda *_: "train", warmup_steps=0, judged_steps=2_000)
    return facts.ranks[0], spent_us / thread.now_us


def samples_of(written: list[tuple[int, float]], until_us: int) -> dict[str, Any]:
    at_us = list(range(0, until_us + 2_000_000, 1_000_000))
    bytes_then = [max((counted for since, counted in written if since <= at), default=0.0) for at in at_us]
    return {"at_us": at_us, "written_bytes": [int(each) for each in bytes_then]}


@pytest.mark.parametrize(("every", "save_ms"), [(50, 310.0), (10, 65.0), (100, 1_200.0)])
def test_the_share_that_checkpoints_take_is_that_of_the_run(store: Store, every: int, save_ms: float) -> None:
    rank, share = rank_that_saves(store, every, save_ms)
    assert rank.paused_fraction == pytest.approx(share, rel=0.02)
    assert rank.checkpoint_fraction == pytest.approx(share, rel=0.02)
    assert rank.step_us == pytest.approx((WORK_MS + WAIT_MS) * MS, rel=0.01), "a step is no longer for them"


def test_what_is_saved_between_epochs_is_distinguished_from_a_validation_there(store: Store) -> None:
    thread, written, counted = Thread(train=1, val=1), [], 0.0
    for _ in range(5):
        thread.run_through("train", 100, WAIT_MS, WORK_MS)
        thread.run_through("val", 20, WAIT_MS, WORK_MS)
        thread.work(700.0)
        counted += 80 * MB
        written.append((thread.now_us, counted))
    thread.run_through("train", 100, WAIT_MS, WORK_MS)
    post(store, [thread.window(process=samples_of(written, thread.now_us))])
    facts = condense(store, "run-1", choose=lambda *_: "train", warmup_steps=0, judged_steps=2_000)
    beside = facts.ranks[0].between_epochs
    assert facts.ranks[0].checkpoints is None and beside is not None
    assert beside.count == 5 and beside.us == pytest.approx(5 * 700 * MS, rel=0.01)
    assert beside.mean_bytes == pytest.approx(80 * MB, rel=0.1)
    assert facts.ranks[0].between_epochs_fraction == pytest.approx(3.5 / (3.5 + 600 * 0.016), rel=0.02)


@pytest.mark.parametrize(("every", "save_ms"), [(50, 310.0), (10, 65.0), (100, 1_200.0)])
def test_charts_show_the_same_checkpoints(store: Store, every: int, save_ms: float) -> None:
    rank, share = rank_that_saves(store, every, save_ms)
    with store.reading() as reader:
        names = ["step_us", "data_wait_us"]
        steps = read_series(reader, "run-1", 0, steps_lane("train"), names=names, buckets=40)
        paused = None if steps is None else read_paused(reader, "run-1", 0, "train", steps)
    assert paused is not None and rank.checkpoints is not None
    assert [each.kind for each in paused.pauses] == ["checkpoint"] * (400 // every)
    assert float(np.sum(paused.within.sum)) / paused.end_us == pytest.approx(share, rel=0.02)
    assert rank.checkpoints.count == 400 // every
