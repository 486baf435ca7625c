"""The ledger: what it says of a hit, of a miss, and of a run that cannot be compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.app.made_facts import made_run, starved
from underfed_server.advice.proof.ledger import Pairing, compare
from underfed_server.advice.proof.pace import Pace, comparable, paces_of, speedup
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, LedgerEntry
from underfed_server.names import ChangeName

BEFORE = starved(wait_ms=[119.0, 121.0])


def advised(change: ChangeName = "num_workers") -> Advice:
    return Advice(
        change=change, from_=0, to=2, predicted_speedup=2.0, low=1.8, high=2.2, ceiling=3.4, settings={}, title="",
        why="", evidence=[], anatomy=None, changes_batch_order=False, risk="", diff="", diff_file=None, command=None,
        assumption=None,
    )  # fmt: skip


def after(step_ms: float, **changes: object) -> RunFacts:
    usual = {"wait_ms": [step_ms * 0.1, step_ms * 0.2], "work_ms": step_ms * 0.85, "run_id": "made-2"}
    return made_run(**{**usual, **changes})  # type: ignore[arg-type]  # the keywords are made_run's own


def entry_for(later: RunFacts, change: ChangeName = "num_workers", also_changed: tuple[str, ...] = ()) -> LedgerEntry:
    pairing = Pairing("made-1", "no_workers", advised(change), paces_of(BEFORE), also_changed)
    return compare(later, pairing)


def test_what_a_change_gained_stands_beside_what_was_predicted() -> None:
    entry = entry_for(after(85.0))
    assert (entry.advice_of, entry.run_id, entry.change, entry.cause) == (
        "made-1",
        "made-2",
        "num_workers",
        "no_workers",
    )
    assert entry.observed_speedup == pytest.approx(2.0, rel=0.01)
    assert (entry.inside_interval, entry.why_not) == (True, None)
    assert entry.observed_speedup and entry.observed_low and entry.observed_high
    assert entry.observed_low < entry.observed_speedup < entry.observed_high


@pytest.mark.parametrize("step_ms", [70.0, 160.0])
def test_a_gain_outside_the_interval_is_a_miss_on_either_side(step_ms: float) -> None:
    assert entry_for(after(step_ms)).inside_interval is False


def test_a_miss_stays_one_where_its_own_interval_reaches_into_the_predicted_one() -> None:
    noisy = after(96.0, wait_ms=list(np.random.default_rng(1).exponential(40.0, 300)), work_ms=57.0)
    entry = entry_for(noisy)
    assert entry.observed_speedup and entry.observed_high and entry.low
    assert entry.observed_speedup < entry.low < entry.observed_high
    assert entry.inside_interval is False


def test_nothing_is_observed_before_a_verdict_would_be_given() -> None:
    few = after(85.0, steps=THRESHOLDS.needed_steps - 1)
    assert entry_for(few).observed_speedup is None
    assert entry_for(few).why_not == "not enough steps yet"
    assert entry_for(replace(few, status="finished")).why_not == "the run had too few steps to compare"
    assert entry_for(after(85.0, steps=THRESHOLDS.needed_steps)).observed_speedup is not None


def test_runs_that_differ_in_more_than_the_advice_are_not_compared() -> None:
    entry = entry_for(after(85.0), also_changed=("batch_size (32 → 64)",))
    assert (entry.observed_speedup, entry.inside_interval) == (None, None)
    assert entry.why_not == "not comparable, changed as well: batch_size (32 → 64)"


def in_epochs(of: int, start_ms: float, run_id: str = "made-2") -> RunFacts:
    """Steps of 50 ms, and ``start_ms`` more for the first of each epoch."""
    made = made_run(wait_ms=[start_ms] + [0.0] * (of - 1), run_id=run_id)
    steps = made.ranks[0].steps
    place = np.arange(len(steps), dtype=np.float64) % of
    return replace(made, ranks=(replace(made.ranks[0], steps=replace(steps, batch_index=place)),))


def test_the_start_of_an_epoch_counts_where_both_runs_have_whole_epochs() -> None:
    slow, quick = paces_of(in_epochs(20, 1_000.0)), paces_of(in_epochs(20, 10.0))
    both = comparable(slow, quick, by_epochs_only=False)
    assert both is not None
    assert speedup(*both)[0] == pytest.approx(2_000 / 1_010)


def test_the_start_of_an_epoch_does_not_count_against_a_run_that_had_none_yet() -> None:
    slow, quick = paces_of(in_epochs(20, 1_000.0)), paces_of(in_epochs(150, 10.0))
    both = comparable(slow, quick, by_epochs_only=False)
    assert both is not None
    assert speedup(*both)[0] == pytest.approx(1.0)
    assert comparable(slow, quick, by_epochs_only=True) is None


def test_whole_epochs_are_compared_from_two_on() -> None:
    assert paces_of(in_epochs(150, 10.0)).epochs is None
    entry = entry_for(in_epochs(150, 10.0), "persistent_workers")
    assert entry.why_not == "the earlier run had too few whole epochs to compare with"
    whole = paces_of(in_epochs(100, 10.0)).epochs
    assert whole is not None and whole.blocks == 2


def test_the_interval_covers_the_true_gain_of_runs_with_noise() -> None:
    figures = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        runs = [made_run(wait_ms=list(figures.exponential(10.0, 300)), work_ms=50.0) for _ in range(2)]
        before, later = (paces_of(run).steps for run in runs)
        assert before and later
        _, low, high = speedup(before, later)
        covered += low <= 1.0 <= high
    assert covered >= 186, "of 200, where 95 % should be 190"


def test_the_interval_is_as_wide_as_the_run_of_which_less_is_known_makes_it() -> None:
    few, many = Pace(100.0, 1.0, blocks=2), Pace(100.0, 1.0, blocks=8)
    assert speedup(few, many) == speedup(many, few) == speedup(few, few)
    assert speedup(many, many)[2] < speedup(few, few)[2]
