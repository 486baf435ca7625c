"""How fast each run is against the first, and why; where that is not known there is a reason and no figure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.app.comparison.made_side import made_side, steps
from tests.app.made_diagnosis import made_diagnosis, made_entry
from underfed_server.comparison.side import measure
from underfed_server.comparison.side_by_side import compare_sides
from underfed_server.facts.record import RankFacts


def copying(rank: RankFacts, copy_ms: float) -> RankFacts:
    return replace(rank, steps=replace(rank.steps, h2d_exposed_us=np.full(len(rank.steps), copy_ms * 1e3)))


def test_the_sentence_has_the_ratio_its_interval_and_the_part_that_changed() -> None:
    found = compare_sides([made_side("slow", steps(100.0)), made_side("quick", steps(10.0))])
    assert found.sentence.startswith("quick is 2.50 × as fast as slow (95 % 2.")
    assert found.sentence.endswith("because data wait fell from 100 to 10 ms.")
    baseline, quick = found.runs
    assert (baseline.speed, baseline.sentence, quick.sentence) == (None, None, found.sentence)
    assert quick.speed and quick.speed.is_told
    assert quick.speed.low < quick.speed.factor < quick.speed.high
    assert quick.anatomy and quick.steps_per_s == pytest.approx(1e6 / quick.anatomy.step_us, rel=1e-4)


def test_a_run_that_is_slower_says_what_rose_and_what_did_not() -> None:
    found = compare_sides([made_side("a", steps(40.0, 50.0)), made_side("b", steps(10.0, 150.0))])
    assert "b is 0.56 × as fast as a" in found.sentence
    assert found.sentence.endswith("because compute rose from 50 to 150 ms, although data wait fell from 40 to 10 ms.")


def test_a_copy_that_both_saw_is_a_reason_of_its_own_and_one_that_one_saw_is_not() -> None:
    hidden, shown = copying(steps(5.0, 50.0), 0.0), copying(steps(5.0, 80.0), 30.0)
    both = compare_sides([made_side("a", shown), made_side("b", hidden)])
    assert both.sentence.endswith("because copy fell from 30 to 0 ms.")
    one = compare_sides([made_side("a", shown), made_side("b", steps(5.0, 50.0))])
    assert one.sentence.endswith("because compute fell from 80 to 50 ms.")


def test_runs_that_noise_could_have_made_different_are_not_distinguished() -> None:
    figures = np.random.default_rng(5)
    noisy = [steps(list(figures.exponential(80.0, 300)), 20.0) for _ in range(2)]
    found = compare_sides([made_side(name, rank) for name, rank in zip("ab", noisy, strict=True)])
    assert found.sentence.startswith("No difference can be told between b and a: ")
    assert "because" not in found.sentence
    assert found.runs[1].speed and not found.runs[1].speed.is_told


def test_a_difference_that_a_repeated_run_would_show_as_well_is_none() -> None:
    found = compare_sides([made_side("a", steps(10.0, 50.0)), made_side("b", steps(10.0, 49.5))])
    assert found.sentence.startswith("b is as fast as a to within 2 %: 1.01 ×, 95 % 1.0")
    assert found.runs[1].speed and not found.runs[1].speed.is_told


def test_a_run_without_steps_has_a_reason_and_no_figure() -> None:
    found = compare_sides([made_side("a", steps(10.0)), made_side("b")])
    assert found.sentence == "b cannot be compared: it has too few steps."
    run = found.runs[1]
    assert (run.speed, run.anatomy, run.steps_per_s, run.samples_per_s) == (None, None, None, None)
    assert run.why_not == "it has too few steps"
    assert found.runs[0].anatomy is not None, "what is known of the other is shown"
    against_it = compare_sides([made_side("b"), made_side("a", steps(10.0)), made_side("c", steps(10.0))])
    assert against_it.sentence == "b cannot be compared: it has too few steps."


def test_of_several_the_fastest_is_named_and_who_may_be_as_fast() -> None:
    sides = [made_side("a", steps(100.0)), made_side("b", steps(20.0)), made_side("c", steps(50.0))]
    assert compare_sides(sides).sentence.startswith("Fastest of 3: b is 2.14 × as fast as a (95 %")
    twins = [*sides, made_side("d", steps(20.1))]
    assert compare_sides(twins).sentence.endswith("Between it and d no difference can be told.")
    slower = [sides[1], sides[0], sides[2]]
    assert compare_sides(slower).sentence == "None of the other 2 is clearly faster than b."
    partly = [sides[1], sides[0], made_side("e")]
    assert compare_sides(partly).sentence == "None of the 1 that can be compared is clearly faster than b."


def test_other_batch_sizes_are_compared_by_samples_and_that_is_said() -> None:
    found = compare_sides([made_side("a", steps(10.0, 90.0)), made_side("b", steps(10.0, 90.0), batch=64)])
    assert found.per == "samples"
    assert found.sentence.startswith("b gets 2.00 × the samples per second of a (95 %")
    assert "compute a sample fell from 2.81 to 1.41 ms" in found.sentence
    assert [caution.sentence for caution in found.cautions] == [
        "Batch sizes differ (32, 64): samples per second are compared, not steps."
    ]


def in_epochs(of: int, rank: RankFacts) -> RankFacts:
    place = np.arange(len(rank.steps), dtype=np.float64) % of
    return replace(rank, steps=replace(rank.steps, batch_index=place))


def test_all_are_measured_by_whole_epochs_or_all_without_their_starts() -> None:
    long, short = in_epochs(60, steps(100.0)), in_epochs(200, steps(10.0))
    assert compare_sides([made_side("a", long), made_side("b", long)]).basis == "epochs"
    assert compare_sides([made_side("a", long), made_side("b", short)]).basis == "steps"


def test_predicted_stands_beside_observed_where_both_runs_are_compared() -> None:
    entry = made_entry("b", 1.5).model_copy(update={"advice_of": "a"})
    other = made_entry("b", 1.2)
    sides = [made_side("a", steps(100.0)), made_side("b", steps(20.0))]
    proved = [replace(side, diagnosis=made_diagnosis(side.run.run_id, ledger=[entry, other])) for side in sides]
    assert compare_sides(proved).ledger == [entry]


@pytest.mark.parametrize(
    ("changes", "of"),
    [
        ({"config": {"model.arch": "vit"}}, "model"),
        ({"script": "other.py"}, "model"),
        ({"gpus": 1, "gpu_name": "H200"}, "gpu"),
        ({"world_size": 8}, "world_size"),
    ],
)
def test_what_else_may_make_the_difference_is_warned_of(changes: dict[str, Any], of: str) -> None:
    baseline = made_side("a", steps(10.0), config={"model.arch": "resnet"})
    found = compare_sides([baseline, made_side("b", steps(10.0), **changes)])
    assert [caution.of for caution in found.cautions] == [of]
    assert compare_sides([baseline, made_side("b", steps(10.0))]).cautions == []


def test_other_work_in_a_step_is_warned_of_where_nothing_else_explains_it() -> None:
    sides = [made_side("a", steps(10.0, 50.0)), made_side("b", steps(10.0, 90.0))]
    assert [caution.sentence for caution in compare_sides(sides).cautions] == [
        "In b compute went from 50 to 90 ms: its steps may not do the same work."
    ]


def test_a_run_that_is_far_slower_has_two_digits_and_not_nothing() -> None:
    found = compare_sides([made_side("a", steps(1.0, 1.0)), made_side("b", steps(10.0, 990.0))])
    assert found.sentence.startswith("b is 0.002 × as fast as a (95 % 0.00")


def test_waits_for_all_loaders_of_a_loop_are_one_part_of_its_step() -> None:
    rank = steps(20.0, 80.0)
    both = measure(replace(rank, others_wait_us=np.full(len(rank.steps), 30e3)), "steps")
    assert both is not None
    found = {part: share.us for part, share in both.parts.items()}
    assert found == {"wait": pytest.approx(50_000, rel=0.1), "compute": pytest.approx(50_000, rel=0.1)}
