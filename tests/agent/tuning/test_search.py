"""Which setting stays, and when nothing is tried: by a training loop of known speeds, on a clock moved by hand."""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from dataclasses import replace

import pytest

from tests.agent.tuning.training_loop import FOUR, MS, NONE, TWO, Loop, workers
from underfed.exchange import tuning
from underfed.exchange.tuning import Proposed
from underfed.trainer.tuning.blocks import Block, compare, differ, spread_of
from underfed.trainer.tuning.conductor import (
    HEALTHY,
    NEARLY_OVER,
    NOT_REACHED,
    RETRY_NS,
    SECOND,
    WENT_BACK,
    steps_for_trials,
)
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.report import LONGER, end_lines, kept_line, script_lines
from underfed.trainer.tuning.search import BEATEN, SLOWER, TIE, TOO_NOISY, USED_UP, Candidate, Search, Trial, picked


def test_the_setting_that_is_measured_to_be_fastest_stays() -> None:
    loop = Loop({NONE: 90, TWO: 30, FOUR: 5}, candidates=workers(2, 4))
    loop.run(600)
    assert loop.in_use == FOUR
    assert loop.conductor.status == tuning.KEPT
    assert loop.conductor.speedup == pytest.approx(100 / 15, rel=0.02)
    line = kept_line(loop.conductor)
    assert line is not None
    assert line.startswith("num_workers 0 → 4: 6.7 × as fast, measured, 95 % 6.7–6.7; ")
    costs, lines = end_lines(loop.conductor, None)
    steps = sum(search.used_steps for search in loop.conductor.searches)
    seconds = loop.conductor.trial_ns / 1e9
    assert costs.startswith(f"--tune: {steps} steps and {seconds:.1f} s of trials, 0.0 s of these lost; ")
    assert re.search(r"\d+ s \(95 % \d+–\d+\) gained since: the steps since then took \d+ s instead of \d+ s$", costs)
    assert lines == "--tune, to write into the script: num_workers=4,"


def test_a_healthy_run_is_left_alone() -> None:
    loop = Loop({TWO: 0.4}, candidates=workers(4))
    loop.run(3000)
    assert loop.requested == []
    assert loop.conductor.status == tuning.WAITING


def test_of_two_that_are_as_fast_the_cheaper_one_stays() -> None:
    for noise, faster in ((0.05, 30.0), (0.0, 29.7)):
        loop = Loop({NONE: 90, TWO: 30, FOUR: faster}, noise=noise, candidates=workers(4, 2))
        loop.run(1500)
        assert loop.in_use == TWO


def test_what_is_not_faster_gives_way_to_what_was_in_use() -> None:
    loop = Loop({TWO: 30, FOUR: 60}, candidates=workers(4))
    loop.run(600)
    assert loop.in_use == TWO
    assert loop.conductor.status == tuning.LEFT_ALONE
    assert loop.conductor.kept_from_step is not None
    costs, why, _ = end_lines(loop.conductor, None)
    assert costs.endswith(f" s of trials, {loop.conductor.lost_ns / 1e9:.1f} s of these lost")
    assert 0.4 < loop.conductor.lost_ns / 1e9 < 2.0
    assert why == "--tune leaves the loader as it is: no other setting was measured to be faster"


@pytest.mark.parametrize("seed", range(12))
def test_noise_alone_makes_nothing_stay_that_is_much_slower(seed: int) -> None:
    choose = random.Random(seed)
    waits = {NONE: 40.0, TWO: choose.uniform(10, 90), FOUR: choose.uniform(10, 90)}
    loop = Loop(waits, noise=0.4, candidates=workers(2, 4), random=choose, most_steps=600)
    loop.run(2000)
    assert loop.work_ms + waits[loop.in_use] <= 1.02 * (loop.work_ms + waits[NONE])


def test_trials_end_when_their_steps_are_used_up() -> None:
    loop = Loop({NONE: 40, TWO: 39, FOUR: 39}, noise=0.9, candidates=workers(2, 4), most_steps=100)
    loop.run(1000)
    assert 60 < loop.conductor.searches[0].used_steps <= 100
    assert not loop.conductor.is_searching


@pytest.mark.parametrize("steps", [7, 30, 50, 75, 101])
def test_no_block_is_begun_that_the_steps_for_trials_do_not_suffice_for(steps: int) -> None:
    loop = Loop({NONE: 40, TWO: 38, FOUR: 38}, noise=0.9, candidates=workers(2, 4), most_steps=steps)
    loop.run(1000)
    assert not loop.conductor.is_searching
    assert sum(search.used_steps for search in loop.conductor.searches) <= steps
    assert (loop.conductor.searches[0].trials[1].reason == USED_UP) == (not loop.conductor.searches[0].trials[1].blocks)


@pytest.mark.parametrize("seed", range(6))
def test_where_the_noise_is_larger_than_what_could_be_gained_trials_end_early(seed: int) -> None:
    loop = Loop({TWO: 0.7, FOUR: 0.6}, most_steps=2000, random=random.Random(seed))
    loop.work_noise, loop.candidates = 0.95, workers(4)
    loop.run(3000)
    trials = loop.conductor.searches[0].trials
    assert loop.in_use == TWO
    assert trials[1].reason in (TOO_NOISY, SLOWER, TIE)
    assert len(trials[1].blocks) == 2


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_kept_whose_interval_is_not_above_one(seed: int) -> None:
    choose = random.Random(seed)
    waits = {FOUR: 40.0, TWO: choose.uniform(35, 45), NONE: choose.uniform(35, 45)}
    loop = Loop(waits, noise=0.5, candidates=workers(2, 0), random=choose)
    loop.run(1500)
    if loop.conductor.status == tuning.KEPT:
        assert loop.conductor.interval is not None
        assert loop.conductor.interval[0] > 1.0
    else:
        assert loop.in_use == FOUR


def test_what_is_kept_and_turns_out_slower_gives_way_to_what_was_in_use_before() -> None:
    loop = Loop({NONE: 90, TWO: 30}, candidates=workers(2))
    while loop.conductor.status != tuning.KEPT:
        loop.run(10)
    loop.wait_ms[TWO] = 150
    loop.run(600)
    assert loop.in_use == NONE
    assert (loop.conductor.status, loop.conductor.reason) == (tuning.LEFT_ALONE, WENT_BACK)
    assert loop.conclusions[-1] == (
        "--tune went back, num_workers 2 → 0: what was kept turned out to be slower; what was in use before is "
        "1.6 × as fast, measured, 95 % 1.6–1.6"
    )
    before = len(loop.requested)
    loop.run(2000)
    assert len(loop.requested) == before


def test_what_is_kept_stays_where_the_host_became_slower_for_all() -> None:
    loop = Loop({NONE: 90, TWO: 30}, candidates=workers(2))
    while loop.conductor.status != tuning.KEPT:
        loop.run(10)
    loop.wait_ms |= {NONE: 400, TWO: 150}
    loop.run(1000)
    assert loop.in_use == TWO
    assert loop.conductor.status == tuning.KEPT
    assert len(loop.conductor.searches) == 2  # looked at once, and against what was in use before as it is now
    assert len(loop.conclusions) == 1


def test_starts_count_as_cost_of_the_trials() -> None:
    loop = Loop({NONE: 90, TWO: 90}, candidates=workers(2), start_ms=5000)
    loop.run(600)
    assert loop.conductor.lost_ns > 4 * SECOND
    assert loop.conductor.start_ns == pytest.approx(5 * SECOND, rel=0.1)


def test_what_cannot_pay_its_start_back_is_not_tried() -> None:
    slow = Loop(
        {NONE: 90, TWO: 60, FOUR: 10}, candidates=workers(2, 4), start_ns=30 * SECOND, length=200, is_limited=False
    )
    slow.run(200)
    assert slow.requested[0].setting == NONE
    assert str(slow.conductor.searches[0].trials[1].reason).startswith("its start takes 30.0 s, and in what is known")
    measured = Loop(
        {NONE: 90, TWO: 60, FOUR: 10}, candidates=workers(2, 4), start_ms=30_000, length=200, is_limited=False
    )
    measured.run(200)
    assert str(measured.conductor.searches[0].trials[2].reason).startswith("its start takes 29.9 s, and in what is")
    for known in (
        Loop({NONE: 90, TWO: 1}, candidates=workers(2), start_ns=30 * SECOND, length=length) for length in (None, 10**5)
    ):
        known.run(300)
        assert known.in_use == TWO


def test_nothing_is_tried_shortly_before_the_end_but_in_a_job_for_its_trials_alone() -> None:
    loop = Loop({NONE: 90, TWO: 1}, candidates=workers(2), length=38)
    loop.run(38)
    assert loop.requested == []
    assert loop.conductor.reason == NEARLY_OVER
    assert list(end_lines(loop.conductor, None)) == [f"--tune leaves the loader as it is: {NEARLY_OVER}", LONGER]
    alone = Loop({NONE: 90, TWO: 1}, candidates=workers(2), length=38, ends_after=True)
    alone.run(38)
    assert alone.requested


def test_what_the_host_has_no_room_for_is_not_tried() -> None:
    loop = Loop({NONE: 90}, candidates=workers(2, 4), no_room="it needs more than there is")
    loop.run(300)
    assert loop.requested[-1].setting == NONE
    assert [trial.reason for trial in loop.conductor.searches[0].trials[1:]] == ["it needs more than there is"] * 2


def test_the_lines_to_write_have_what_was_set_beside_what_is_kept() -> None:
    """The script has neither."""
    loop = Loop({TWO: 90, LoaderSetting(2, 8): 1}, fixed={"num_workers": 2}, candidates=[])
    loop.candidates = [{"settings": {"prefetch_factor": 8}, "predicted_speedup": 2.0}]
    loop.run(600)
    assert loop.conductor.status == tuning.KEPT
    assert list(script_lines(loop.conductor)) == ["num_workers=2,", "prefetch_factor=8,"]


def test_they_have_what_was_set_and_is_never_tried() -> None:
    loop = Loop({replace(TWO, persistent_workers=True): 90, replace(FOUR, persistent_workers=True): 1})
    loop.fixed["persistent_workers"], loop.candidates = True, workers(4)
    loop.run(600)
    assert loop.conductor.status == tuning.KEPT
    assert list(script_lines(loop.conductor)) == ["persistent_workers=True,", "num_workers=4,"]


def test_what_ends_the_trials_is_said_of_the_setting_that_showed_it() -> None:
    loop = Loop({NONE: 90, TWO: 30, FOUR: 5}, candidates=workers(2, 4))
    while not loop.requested:
        loop.run(1)
    loop.conductor.leave_alone(NONE, "a worker could not load")
    reasons = [trial.reason for trial in loop.conductor.searches[0].trials[1:]]
    assert reasons == ["a worker could not load", NOT_REACHED]
    assert loop.conductor.trial_ns > 0


def test_where_nothing_was_measured_no_cost_is_said() -> None:
    loop = Loop({NONE: 90}, candidates=workers(2), no_room="it needs more than there is")
    loop.run(300)
    assert list(end_lines(loop.conductor, None)) == ["--tune leaves the loader as it is: it needs more than there is"]


def test_what_was_set_is_not_tried() -> None:
    loop = Loop({TWO: 90}, candidates=workers(4), fixed={"num_workers": 2})
    loop.run(300)
    assert loop.requested == []


def test_candidates_for_other_settings_than_those_in_use_wait() -> None:
    loop = Loop({TWO: 90}, candidates=None)
    old = Proposed(NONE.settings(), workers(4), None)
    loop.conductor.proposed = lambda: old
    loop.run(60)
    assert loop.requested == []


def test_without_a_service_the_load_that_was_measured_says_how_many_workers() -> None:
    loop = Loop({NONE: 25, LoaderSetting(3, 2): 0.1, **dict.fromkeys((FOUR, LoaderSetting(1, 2)), 5)}, candidates=None)
    loop.run(200)
    assert loop.requested == []  # the service is waited for
    loop.run(600)
    assert loop.in_use == LoaderSetting(3, 2)


def test_a_candidate_without_workers_comes_first() -> None:
    eight = LoaderSetting(1, 8)
    loop = Loop({eight: 20, LoaderSetting(2, 8): 12, NONE: 5}, candidates=workers(2, 0), most_steps=100)
    loop.run(500)
    assert loop.requested[0].setting == NONE
    assert loop.in_use == NONE


@pytest.mark.parametrize(
    ("loop", "steps", "why"),
    [
        (Loop({TWO: 0.1}), 400, HEALTHY),
        (Loop({NONE: 90}), 20, "too few steps were measured, 1 step more would be needed"),
        (
            Loop({LoaderSetting(64, 2): 90}),
            10,
            "its queue of 64 × 2 batches is filled at the start of each pass, before anything can be compared: "
            "11 steps more of a pass would be needed",
        ),
    ],
)
def test_something_is_said_at_the_end_whatever_was_done(loop: Loop, steps: int, why: str) -> None:
    loop.run(steps)
    assert list(end_lines(loop.conductor, None)) == [f"--tune leaves the loader as it is: {why}"]


@pytest.mark.parametrize(
    ("loop", "why"),
    [
        (Loop({TWO: 90}, candidates=None), "the program ended before anything was tried"),
        (Loop({NONE: 90, TWO: 1}, candidates=workers(2), length=40), NEARLY_OVER),
        (Loop({NONE: 90, TWO: 1}, candidates=workers(2), length=70, start_ns=30 * SECOND), "trials would lose 30.0 s"),
    ],
)
def test_a_run_that_waits_and_is_too_short_to_try_anything_is_shown_what_would_help(loop: Loop, why: str) -> None:
    loop.run(40)
    assert loop.requested == []
    first, last = end_lines(loop.conductor, None)
    assert first.startswith(f"--tune leaves the loader as it is: {why}")
    assert last == LONGER


def test_a_longer_run_is_no_help_where_nothing_may_gain() -> None:
    loop = Loop({NONE: 90}, candidates=[], why_none="no setting may gain", length=40)
    loop.run(40)
    assert list(end_lines(loop.conductor, None)) == ["--tune leaves the loader as it is: no setting may gain"]


def left(loop: Loop, steps: int = 1200) -> list[str]:
    """What is said at the end of a run of which nothing else was kept, its cost left out."""
    loop.run(steps)
    assert loop.conductor.status == tuning.LEFT_ALONE
    cost, *lines = end_lines(loop.conductor, None)
    assert "of trials" in cost
    return lines


def test_each_setting_that_was_tried_and_not_kept_is_named_with_what_was_measured_of_it() -> None:
    loop = Loop({NONE: 90, TWO: 90, FOUR: 190}, candidates=workers(2, 4))
    why, two, four = left(loop)
    assert why == "--tune leaves the loader as it is: no other setting was measured to be faster"
    assert two.startswith("--tune: num_workers=2: 1.00 × as fast (95 % 1.00–1.00), ")
    assert four == "--tune: num_workers=4: 0.50 × as fast (95 % 0.50–0.50), slower by more than its noise"


def test_how_many_more_steps_would_show_a_gain_follows_from_its_noise() -> None:
    loop = Loop({NONE: 90, TWO: 80}, noise=0.7, candidates=workers(2), most_steps=100)
    _, line, steps = left(loop)
    assert re.search(r"were measured, .* about --tune-steps \d{3} would have been enough$", steps)
    found = re.search(r"(1\.\d+) × as fast \(95 % (\d\.\d+)–.*about (\d+) more steps of each would show it$", line)
    assert found is not None and "not shown to be faster" in line
    speedup, low, more = map(float, found.groups())
    measured = loop.conductor.searches[0].trials[1].measured
    noise = picked(1) * math.log(speedup / low) * math.sqrt(measured / (measured + more))
    assert noise == pytest.approx(math.log(speedup), rel=0.05)


def test_what_was_not_tried_is_named_beside_what_was_with_every_reason() -> None:
    eight = LoaderSetting(8, 2)
    why = "its batches need 9 MB of /dev/shm, and 1 MB are free"
    loop = Loop({NONE: 90, TWO: 90, eight: 1}, candidates=workers(2, 8))
    loop.conductor.why_no_room = lambda setting: why if setting == eight else None
    lines = left(loop)
    assert lines[0] == "--tune leaves the loader as it is: no other setting was measured to be faster"
    assert lines[1].startswith("--tune: num_workers=2: 1.00 × as fast")
    assert lines[2] == f"--tune: num_workers=8 was not tried: {why}"


def test_room_is_looked_for_again_where_a_search_that_was_cut_short_goes_on() -> None:
    loop = Loop({NONE: 90, TWO: 95, FOUR: 1}, candidates=workers(4, 2), pass_steps=100, length=600, start_ms=7_000)
    loop.run(100)
    assert "that they had lost before" in str(loop.conductor.searches[0].trials[1].reason)
    loop.length = 20_000
    loop.no_room = "its batches need 9 MB of /dev/shm, and 1 MB are free"
    loop.run(400)
    assert loop.conductor.searches[0].cut == []
    assert list(end_lines(loop.conductor, None))[1].endswith(f"leaves the loader as it is: {loop.no_room}")


def test_a_program_that_ends_within_its_trials_says_what_was_measured_so_far() -> None:
    loop = Loop({NONE: 90, TWO: 60, FOUR: 1}, noise=0.1, candidates=workers(2, 4))
    while not (loop.conductor.searches and loop.conductor.searches[0].trials[1].blocks):
        loop.run(1)
    _, ended, two = end_lines(loop.conductor, None)
    assert ended == "--tune: the program ended within its trials, so no other setting was kept"
    assert two.startswith("--tune: num_workers=2: 1.4")


def test_settings_of_one_reason_are_named_together() -> None:
    loop = Loop({NONE: 90}, candidates=[*workers(2, 4), {"settings": {"num_workers": 4, "prefetch_factor": 8}}])
    loop.conductor.why_no_room = lambda setting: "no room" if setting.num_workers == 4 else "no core"
    loop.run(300)
    lines = list(end_lines(loop.conductor, None))
    assert lines[1:] == [
        "--tune: num_workers=2 was not tried: no core",
        "--tune: num_workers=4 and num_workers=4 with prefetch_factor=8 were not tried: no room",
    ]


def test_steps_that_more_trials_would_need_are_said_where_they_were_used_up() -> None:
    def loop_of(most_steps: int) -> Loop:
        return Loop({NONE: 90, TWO: 90, FOUR: 90}, candidates=workers(2, 4), most_steps=most_steps)

    steps = 40
    for _ in range(3):
        said = "\n".join(left(loop_of(steps)))
        if "num_workers=4 was not tried" not in said:
            break
        found = re.search(f"num_workers=4 was not tried: {USED_UP}, at least (\\d+) more would be needed", said)
        enough = re.search(r"about --tune-steps (\d+) would have been enough", said)
        assert found is not None and enough is not None
        assert int(enough[1]) == steps + int(found[1])
        assert "num_workers=4 was not tried" in "\n".join(left(loop_of(int(enough[1]) - 1)))
        steps = int(enough[1])
    assert 40 < steps < 80 and "num_workers=4 was not tried" not in said


def test_an_iterable_data_set_that_is_given_workers_is_said_to_come_in_another_order() -> None:
    loop = Loop({NONE: 90, TWO: 30}, candidates=workers(2))
    loop.run(600)
    assert str(kept_line(loop.conductor, is_iterable=True)).endswith(
        "s of trials; its data set is iterable, so its records now come in another order"
    )
    queue = Loop({TWO: 90, LoaderSetting(2, 8): 1}, candidates=[{"settings": {"prefetch_factor": 8}}])
    queue.run(600)
    line = str(kept_line(queue.conductor, is_iterable=True))
    assert line.startswith("prefetch_factor 2 → 8") and "order" not in line


def test_what_a_setting_was_is_written_as_in_python() -> None:
    loop = Loop({NONE: 90, LoaderSetting(2, 8): 1}, candidates=[{"settings": {"num_workers": 2, "prefetch_factor": 8}}])
    loop.run(600)
    assert str(kept_line(loop.conductor)).startswith("num_workers 0 → 2, prefetch_factor None → 8: ")


def test_why_nothing_can_be_tried_is_said() -> None:
    loop = Loop({NONE: 25}, candidates=[], why_none="storage gives no more")
    loop.run(400)
    assert (loop.conductor.status, loop.conductor.reason) == (tuning.WAITING, "storage gives no more")


def test_it_is_tried_again_where_the_wait_comes_back_for_a_minute_ten_minutes_later() -> None:
    loop = Loop({NONE: 90, TWO: 0.2, FOUR: 0.2}, candidates=workers(2))
    loop.run(400)
    assert loop.in_use == TWO
    loop.wait_ms |= {TWO: 30, FOUR: 1}
    loop.candidates = workers(4)
    began = loop.now_ns
    while loop.in_use == TWO:
        loop.run(50)
    assert RETRY_NS * 0.9 < loop.now_ns - began < RETRY_NS * 1.2
    loop.run(400)
    assert loop.conductor.searches[1].best.setting == FOUR


def test_a_pause_between_two_steps_is_none() -> None:
    loop = Loop({TWO: 0.1}, candidates=workers(4))
    for _ in range(20):
        loop.run(40)
        loop.now_ns += 60 * SECOND
    assert loop.conductor.status == tuning.WAITING


def test_a_job_for_its_trials_alone_ends_with_them() -> None:
    loop = Loop({NONE: 90, TWO: 1}, candidates=workers(2), ends_after=True)
    loop.run(400)
    assert any(order.is_end for order in loop.requested)


def test_a_job_for_its_trials_alone_ends_where_there_is_nothing_to_try() -> None:
    loop = Loop({TWO: 0.1}, ends_after=True, most_steps=100)
    loop.run(400)
    assert loop.requested[0].is_end


def test_a_job_for_its_trials_alone_awaits_what_the_service_proposes() -> None:
    loop = Loop(defaultdict(lambda: 1.0, {NONE: 20.0}), candidates=None, ends_after=True, most_steps=100)
    loop.run(200)
    assert not loop.requested, "for six seconds"
    loop.run(600)
    assert any(trial.blocks for trial in loop.conductor.searches[0].trials[1:])
    assert loop.requested[-1].is_end


def test_what_cannot_be_started_is_left_out() -> None:
    loop = Loop({NONE: 90, FOUR: 5}, candidates=workers(2, 4))
    while not loop.requested:
        loop.requested += (
            [order] if (order := loop.conductor.request(loop.now_ns, 90 * MS, loop.step)) is not None else []
        )
        loop.now_ns += 100 * MS
        loop.step += 1
    further = loop.conductor.failed(NONE, "no process can be started", loop.now_ns, loop.step)
    assert further is not None
    assert further.setting == FOUR


@pytest.mark.parametrize(
    ("asked", "length", "steps"), [(None, None, 100), (None, 20_000, 400), (None, 10**9, 2000), (7, 20_000, 7)]
)
def test_steps_for_trials_follow_the_length_of_the_training(asked: int | None, length: int | None, steps: int) -> None:
    assert steps_for_trials(asked, length) == steps


def blocks(*means: list[float]) -> list[Block]:
    return [Block(0, 0, unit_ns=mean) for mean in means]


def test_the_spread_of_blocks_counts_where_it_is_larger_than_that_within() -> None:
    steady = compare(blocks([10, 10.1, 9.9], [20, 20.1, 19.9]), blocks([10, 10.1, 9.9], [20, 20.1, 19.9]))
    assert steady is not None
    assert steady.low < 0.7
    assert steady.high > 1.4


def measured(step_ms: float, *, steps: int = 16, unit: int = 2, drained: int = 0) -> Block:
    block = Block(0, 0, requests_ns=[round(step * step_ms * MS) for step in range(steps + 1)])
    block.close(unit, drained)
    return block


def test_steps_by_which_a_queue_empties_count_as_long_as_loading_took() -> None:
    emptied, steady = measured(10, drained=8), measured(10, drained=2)
    assert emptied.unit_ns == [20 * MS] * 8
    assert steady.unit_ns == [10 * MS] * 8
    assert emptied.stall_fraction([0] * 16) == 0.5
    assert steady.stall_fraction([MS] * 16) == pytest.approx(0.1)


def test_a_few_long_steps_do_not_make_the_host_another() -> None:
    usual = [10.0, 10.1, 9.9, 10.2] * 4
    tail = [*usual[:-2], 90.0, 120.0]
    assert not differ(*blocks(usual, tail))
    assert differ(*blocks(usual, [2 * each for each in usual]))


def test_loads_that_differ_from_sample_to_sample_are_no_changes_of_the_host() -> None:
    choose = random.Random(1)
    loads = [[choose.choice([10.0, 10.0, 10.0, 60.0]) for _ in range(96)]]
    slower = [[10.0 + choose.random() + (5.0 if step // 24 % 2 else 0.0) for step in range(96)]]
    assert spread_of([blocks(*loads)]) < 0.15
    assert spread_of([blocks(*slower)]) > 0.15


def search_of(*candidates: Candidate, most_steps: int = 1000) -> Search:
    return Search(Trial(Candidate(NONE), [measured(100)], stall_fraction=0.9), candidates, most_steps)


def played(search: Search, step_ms: dict[LoaderSetting, float]) -> Search:
    """To its end, by steps that do not differ."""
    search.begin()
    present = NONE
    while not search.is_over:
        setting, unit = search.current.setting, search.current.unit
        steps = search.block_steps(16, present)
        assert steps
        block = measured(step_ms[setting], steps=steps, unit=unit)
        block.steps, present = steps, setting
        search.measured(block, 0.5)
    return search


def test_steps_under_what_was_in_use_do_not_count() -> None:
    search = played(search_of(Candidate(TWO)), {NONE: 100, TWO: 50})
    assert search.best.setting == TWO
    assert search.used_steps == sum(block.steps for block in search.trials[1].blocks)
    assert sum(block.measured for block in search.trials[0].blocks) > 16


def test_where_the_host_changed_before_the_first_block_between_trials_all_is_measured_anew() -> None:
    search = played(search_of(Candidate(TWO)), {NONE: 50, TWO: 25})
    ratio = search.ratio()
    assert search.best.setting == TWO
    assert ratio is not None
    assert ratio.speedup == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("predicted", "four_ms", "kept"),
    [((2.0, 2.0), 49.5, TWO), ((2.0, 2.2), 49.5, FOUR), ((2.0, 2.0), 40.0, FOUR), ((None, None), 49.5, TWO)],
)
def test_a_tie_goes_to_the_cheaper_setting_unless_the_other_is_predicted_to_be_faster(
    predicted: tuple[float | None, float | None], four_ms: float, kept: LoaderSetting
) -> None:
    two, four = (Candidate(setting, each) for setting, each in zip((TWO, FOUR), predicted, strict=True))
    search = played(search_of(four, two), {NONE: 100, TWO: 50, FOUR: four_ms})
    assert search.best.setting == kept


def test_what_was_in_use_is_slower_than_what_stays_and_no_candidate_of_it() -> None:
    search = played(search_of(Candidate(TWO), Candidate(FOUR)), {NONE: 100, TWO: 50, FOUR: 80})
    assert [trial.reason for trial in search.trials] == [BEATEN, None, SLOWER]


def test_no_candidate_is_begun_that_could_not_be_measured_twice() -> None:
    search = search_of(Candidate(FOUR), most_steps=2 * (FOUR.capacity + 1 + 12) - 1)
    search.begin()
    assert search.is_over
    assert search.trials[1].reason == USED_UP


def test_trials_begin_once_the_pace_of_what_is_in_use_is_known() -> None:
    steady, changing = (Loop({NONE: 100, TWO: 30}, candidates=workers(2)) for _ in range(2))
    while not steady.requested:
        steady.run(1)
    while not changing.requested:
        changing.run(1)
        changing.wait_ms[NONE] = 180 if changing.step // 15 % 2 else 20
    assert changing.step > 1.2 * steady.step
    assert changing.now_ns < 20 * SECOND


def test_a_search_that_was_cut_short_goes_on_once_far_more_of_the_run_is_known() -> None:
    loop = Loop({NONE: 50, TWO: 10}, candidates=workers(2), start_ms=4000, pass_steps=200, length=400)
    loop.run(450)
    (search,) = loop.conductor.searches
    assert search.cut
    assert loop.in_use == NONE
    loop.length = 100_000
    loop.run(300)
    assert loop.conductor.searches == [search]
    assert loop.in_use == TWO


def _search(candidates: int, noise: float) -> Search:
    """All measured: the first candidate is 1.10 times as fast as what was in use, the others are half as fast."""

    def blocks(step_ms: float) -> list[Block]:
        return [Block(0, 0, unit_ns=[step_ms * (1 + sign * noise) * MS for sign in (1, -1) * 4]) for _ in range(2)]

    search = Search(Trial(Candidate(NONE), blocks(110)), [Candidate(LoaderSetting(n, 2)) for n in (4, 5, 6, 7, 8)], 0)
    del search.trials[1 + candidates :]
    for trial, step_ms in zip(search.trials[1:], [100.0, *[220.0] * 4], strict=False):
        trial.blocks = blocks(step_ms)
    search.stop("over")
    return search


def test_the_more_were_measured_the_clearer_the_fastest_has_to_be() -> None:
    """The luckiest of five that are as fast is faster by chance more often than one alone."""
    for candidates, noise, kept in ((1, 0.1, FOUR), (5, 0.1, NONE), (5, 0.05, FOUR)):
        search = _search(candidates, noise)
        ratio = search.against_start(search.trials[1])
        assert ratio is not None and ratio.low > 1.0
        assert search.best.setting == kept
