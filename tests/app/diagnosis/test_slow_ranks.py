"""Which ranks keep the others waiting is found once a judgement, however many parts of it ask."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.diagnosis.altered import of_ranks
from tests.app.made_facts import made_run
from underfed_server.diagnosis.chosen_loader import line_of
from underfed_server.diagnosis.judge import judge
from underfed_server.diagnosis.overview import overview_of
from underfed_server.diagnosis.slow_ranks import slow_ranks
from underfed_server.facts.lockstep import in_lockstep
from underfed_server.facts.record import RunFacts


def late_in_turn() -> RunFacts:
    """Of four ranks each waits 80 ms in every fourth step, and 80 ms for the others in the rest."""
    waits = [[80.0 if step % 4 == rank else 0.0 for step in range(80)] for rank in range(4)]
    return of_ranks(*(
        made_run(steps=80, wait_ms=wait, work_ms=[100.0 - each for each in wait], num_workers=1, load_cpu_ms=50.0)
        for wait in waits
    ))  # fmt: skip


def test_a_judgement_puts_the_ranks_side_by_side_once(monkeypatch: pytest.MonkeyPatch) -> None:
    facts, asked = late_in_turn(), []

    def counted(ranks: Any) -> Any:
        asked.append(ranks)
        return in_lockstep(ranks)

    monkeypatch.setattr("underfed_server.diagnosis.slow_ranks.in_lockstep", counted)
    overview = overview_of(facts)
    verdict = judge(facts, overview=overview)
    assert verdict.causes[0].cause == "slow_rank"
    assert all(line_of(each, facts, overview.slow, verdict) for each in facts.loaders)
    assert len(asked) == 1


def test_a_verdict_is_the_same_with_and_without_what_was_found_out_before() -> None:
    facts = late_in_turn()
    assert judge(facts, overview=overview_of(facts)) == judge(facts)


def test_of_ranks_that_are_late_in_turn_none_is_the_slow_one() -> None:
    slow = slow_ranks(late_in_turn().ranks)
    assert slow.late_in_turn is not None and slow.late_in_turn.lost_fraction == pytest.approx(0.8)
    assert (slow.stragglers, slow.at_work) == ((), None)
    assert slow.input_lost_us == pytest.approx(4 * 80 * 80_000.0)


def test_each_rank_has_the_waits_of_its_judged_steps() -> None:
    waits = [10.0] * 18 + [60.0, 90.0]
    ranks = judge(of_ranks(
        made_run(steps=80, wait_ms=waits, num_workers=1, queue_depth=2.0),
        made_run(steps=80, wait_ms=5.0, num_workers=1, queue_depth=0.0),
        made_run(steps=80, wait_ms=5.0),
    )).ranks  # fmt: skip
    figures = [(each.data_wait_us, each.data_wait_p95_us, each.queue_empty_fraction) for each in ranks]
    assert figures == [(16_500, 60_000, 0.0), (5_000, 5_000, 1.0), (5_000, 5_000, None)]
