"""Advice for what comes with the batches of some loaders: their workers' state, and those of other ranks."""

from __future__ import annotations

import pytest

from tests.app.advice.made_case import altered, changes, made_case, made_verdict, of, recommended
from tests.app.made_facts import made_run
from underfed_server.advice.advise import recommend
from underfed_server.advice.catalogue.shard_iterable import CHANGE as SHARD_ITERABLE
from underfed_server.facts.record import RunFacts


def waiting(**known: object) -> RunFacts:
    facts = made_run(wait_ms=30.0, work_ms=20.0, num_workers=2, load_blocked_ms=100.0, queue_depth=0, busy_cores=0.5)
    return altered(facts, loader=known)


def test_state_is_taken_once_in_many_batches_and_no_gain_is_guessed() -> None:
    found = recommended(waiting(snapshot_interval_steps=1, keeps_state=True), state_snapshot=0.4)
    best = found.advice[0]
    assert (best.change, best.from_, best.to, best.predicted_speedup) == ("snapshot_interval", 1, 50, None)
    assert best.ceiling == pytest.approx(1 / 0.6)
    assert best.assumption is not None and "Try it" in best.assumption


def test_rare_snapshots_stay_as_they_are() -> None:
    for interval in (50, 1_000):
        found = recommended(waiting(snapshot_interval_steps=interval, keeps_state=True), state_snapshot=0.4)
        assert "snapshot_interval" not in changes(found)
    assert "snapshot_interval" not in changes(recommended(waiting(snapshot_interval_steps=1), ipc_copy=0.4))


@pytest.mark.parametrize(
    ("costs", "is_offered"), [({"ipc_copy": 0.4}, True), ({"state_snapshot": 0.4, "ipc_copy": 0.1}, False)]
)
def test_no_gain_is_promised_of_handshakes_where_state_comes_with_batches(
    costs: dict[str, float], is_offered: bool
) -> None:
    facts = waiting(snapshot_interval_steps=1, keeps_state=True)
    case = made_case(facts, made_verdict(**costs), lambda setting: 1.3 if setting.shares_by_name else 1.0)
    assert ("sharing_strategy" in changes(recommend(case))) is is_offered


def test_ranks_load_their_own_batches_and_what_an_iterable_data_set_needs_for_it_is_said() -> None:
    best = of("shard_iterable", recommended(waiting(dispatched=True, dataset_kind="iterable"), dispatched_batches=0.5))
    assert best.to == "dispatch_batches=False"
    assert best.predicted_speedup is None
    assert "split_by_node" in best.risk
    plain = of("shard_iterable", recommended(waiting(dispatched=True), dispatched_batches=0.5))
    assert "split_by_node" not in plain.risk


def test_a_run_in_which_each_rank_loads_carries_the_change() -> None:
    assert SHARD_ITERABLE.sign is not None
    assert SHARD_ITERABLE.sign({"dispatched": True}, {"dispatched": False})
    assert not SHARD_ITERABLE.sign({"dispatched": True}, {"dispatched": True})
    assert SHARD_ITERABLE.sign({"repeated_batches": 60}, {"repeated_batches": 0})
