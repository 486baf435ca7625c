"""A headline has the share that who divides the hours finds, or both that and another one of the judged steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.app.made_facts import made_run
from underfed_server.diagnosis.judge import judge
from underfed_server.diagnosis.rounded import percents
from underfed_server.facts.record import RunFacts
from underfed_server.store.reading.changed_settings import ChangedSettings


def started_slowly(first_wait_us: float, *, work_ms: float = 60.0, steps: int = 300) -> RunFacts:
    """40 of 100 ms are waits, after first steps that waited so long besides."""
    facts = made_run(wait_ms=100.0 - work_ms, work_ms=work_ms, steps=steps)
    (rank,) = facts.ranks
    longer = {
        name: getattr(rank, name) + first_wait_us for name in ("total_step_us", "total_data_wait_us", "total_stall_us")
    }
    return replace(facts, ranks=(replace(rank, **longer),))


@pytest.mark.parametrize(
    ("first_wait_us", "said", "share"),
    [
        (0.0, "40% of every step.", 0.4),
        (0.6e6, "41% of every step.", 12.6 / 30.6),
        (4e6, "40% of every step, and 47% with its slow first 5 steps.", 0.4),
    ],
)
def test_first_steps_are_in_the_share_where_they_move_it_little_and_stated_where_much(
    first_wait_us: float, said: str, share: float
) -> None:
    found = judge(started_slowly(first_wait_us))
    assert found.sentence == f"The training loop waits for data {said}"
    assert found.headline_stall_fraction == pytest.approx(share)
    assert found.data_stall_fraction == pytest.approx(0.4), "of the judged steps"


def test_of_more_steps_than_are_judged_the_share_of_all_is_stated_as_theirs() -> None:
    facts = started_slowly(4e6)
    (rank,) = facts.ranks
    longer = replace(facts, ranks=(replace(rank, total_steps=2_000),))
    assert judge(longer).sentence.endswith("40% of every step, and 47% over all 2,000 steps.")


def test_since_a_change_the_share_is_of_the_steps_since() -> None:
    facts = started_slowly(4e6)
    (rank,) = facts.ranks
    changed = ChangedSettings(180, 0, {"num_workers": 0}, {"num_workers": 2})
    since = replace(facts, ranks=(replace(rank, changed=changed),))
    assert judge(since).sentence == "Since step 180 the training loop waits for data 40% of every step."


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((0.253, 0.13, 0.05), ("43%", ["25%", "13%", "5.0%"])),
        ((0.253, 0.174), ("42.7%", ["25.3%", "17.4%"])),
        ((0.326, 0.087), ("41.3%", ["32.6%", "8.7%"])),
        ((0.2533, 0.1747), ("42.8%", ["25.3%", "17.5%"])),
        ((0.6, 0.0002), ("60%", ["60%", "less than 0.1%"])),
    ],
)
def test_parts_add_up_as_they_are_printed(parts: tuple[float, ...], said: tuple[str, list[str]]) -> None:
    assert percents(sum(parts), parts) == said


def test_parts_that_leave_a_rest_stay_as_they_are() -> None:
    assert percents(0.5, (0.253, 0.174)) == ("50%", ["25%", "17%"])
