"""Causes other than slow loading: swept in strength, the healthy neighbour silent, and no guess unmeasured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.app.diagnosis.altered import (
    of_ranks,
    with_batches,
    with_loader,
    with_steps,
)
from tests.app.diagnosis.found import causes, finding, is_growing
from tests.app.diagnosis.loop import Played
from tests.app.made_facts import made_run, starved
from underfed_server.diagnosis.judge import judge
from underfed_server.diagnosis.slow_ranks import reported_rank, slow_ranks
from underfed_server.facts.record import RunFacts

NAN = float("nan")


# ipc_copy


def test_ipc_copy_costs_what_receiving_takes() -> None:
    played = [Played(load_ms=30, work_ms=20, delivery_ms=ms) for ms in (4.0, 12.0, 40.0)]
    costs = [finding(each.facts(), "ipc_copy").cost_fraction for each in played]
    assert is_growing(costs)
    assert costs == pytest.approx([each.cost_of(delivery_ms=0.0) for each in played], abs=0.03)


def test_ipc_copy_names_what_makes_the_hand_over_long() -> None:
    facts = Played(load_ms=30, work_ms=20, delivery_ms=12).facts()
    many, large = with_loader(facts, batch_tensors=300), with_loader(facts, batch_bytes=200_000_000)
    assert "300 tensors" in finding(many, "ipc_copy").sentence
    assert "191 MiB" in finding(large, "ipc_copy").sentence


def test_ipc_copy_does_not_say_that_batches_are_loaded_in_time_where_most_of_the_wait_is_for_another_reason() -> None:
    most = Played(load_ms=30, work_ms=20, delivery_ms=12).facts()
    part = Played(load_ms=30, work_ms=20, delivery_ms=5, sampler_ms=20).facts()
    assert "loaded in time" in finding(most, "ipc_copy").sentence
    assert finding(part, "ipc_copy").cost_fraction < (judge(part).data_stall_fraction or 0.0) / 2
    assert "loaded in time" not in finding(part, "ipc_copy").sentence


def test_ipc_copy_is_silent_where_batches_come_at_once_or_late_from_loading() -> None:
    assert causes(Played(load_ms=30, work_ms=20, delivery_ms=0.5).facts()) == []
    assert causes(Played(load_ms=120, work_ms=20, delivery_ms=5).facts()) == ["too_few_workers"]


# state_snapshot


def stateful(delivery_ms: float, **known: Any) -> RunFacts:
    facts = Played(load_ms=10, work_ms=20, delivery_ms=delivery_ms).facts()
    return with_loader(facts, **{"snapshot_interval_steps": 1, "keeps_state": True, **known})


def test_state_snapshot_costs_what_the_hand_over_takes_beyond_the_batch() -> None:
    costs = [finding(stateful(ms), "state_snapshot").cost_fraction for ms in (12, 30, 60)]
    assert is_growing(costs)
    usual_ms = 1.5 + 2 * 0.45 + 0.19
    played = [Played(load_ms=10, work_ms=20, delivery_ms=ms) for ms in (12, 30, 60)]
    assert costs == pytest.approx([each.cost_of(delivery_ms=usual_ms) for each in played], abs=0.05)


def test_state_snapshot_and_hand_over_share_what_comes_late() -> None:
    assert causes(stateful(12)) == ["state_snapshot", "ipc_copy"]
    (lone,) = judge(stateful(12, keeps_state=False)).causes
    assert sum(each.cost_fraction for each in judge(stateful(12)).causes) == pytest.approx(lone.cost_fraction)


@pytest.mark.parametrize(
    "known",
    [{"snapshot_interval_steps": None}, {"keeps_state": False}, {"batch_tensors": 30}, {"batch_bytes": 60_000_000}],
)
def test_what_tensors_take_is_not_taken_for_state(known: dict[str, Any]) -> None:
    assert causes(stateful(12, **known)) == ["ipc_copy"]


def test_state_that_comes_with_few_small_tensors_shows_at_twice_what_these_take() -> None:
    """2.6 ms by themselves. Without state that is known to come, they are a hand-over as any other."""
    assert causes(stateful(6.5))[0] == "state_snapshot"
    assert "state_snapshot" not in causes(stateful(4.5))
    assert "state_snapshot" not in causes(stateful(6.5, keeps_state=False))
    assert "state_snapshot" not in causes(stateful(25, batch_bytes=50_000_000)), "large ones: three times"


def test_that_batches_are_loaded_in_time_is_said_where_none_was_waited_for() -> None:
    late = Played(load_ms=60, work_ms=20, delivery_ms=12).facts(busy_cores=2.5)
    assert finding(Played(load_ms=30, work_ms=20, delivery_ms=12).facts(), "ipc_copy").sentence.startswith(
        "Batches are"
    )
    shown = with_loader(replace(late), batch_tensors=300)
    sentences = [each.sentence for each in judge(shown).causes if each.cause == "ipc_copy"]
    assert all(each.startswith("Handing loaded batches over") for each in sentences)


def test_a_late_batch_is_not_taken_for_state_where_no_core_is_free_or_in_time() -> None:
    queued = with_batches(stateful(12), cpu_us=2_000.0, runqueue_us=6_000.0)
    assert causes(queued) == ["ipc_copy"]
    assert causes(stateful(0.5)) == []


# dispatched_batches


def test_dispatched_batches_cost_half_of_a_step_that_waits_for_one_ranks_workers() -> None:
    facts = Played(load_ms=120, work_ms=20).facts()
    assert causes(facts) == ["too_few_workers"]
    sent = with_loader(facts, dispatched=True)
    assert causes(sent)[0] == "dispatched_batches"
    assert finding(sent, "dispatched_batches").cost_fraction == pytest.approx(0.5)
    few = finding(with_loader(Played(load_ms=50, work_ms=20).facts(), dispatched=True), "dispatched_batches")
    assert few.cost_fraction == pytest.approx(Played(load_ms=50, work_ms=20).cost_of(num_workers=4), abs=0.03)


def test_dispatched_batches_that_are_in_time_cost_nothing() -> None:
    assert causes(with_loader(Played(load_ms=20, work_ms=20).facts(), dispatched=True)) == []


# pin_thread


def test_pin_thread_costs_what_it_is_slower_than_the_loop() -> None:
    played = [Played(load_ms=30, work_ms=20, pin_ms=ms) for ms in (26.0, 40.0, 90.0)]
    assert is_growing([finding(each.facts(), "pin_thread").cost_fraction for each in played])


def test_pin_thread_is_silent_where_it_keeps_up_or_was_not_measured() -> None:
    assert causes(Played(load_ms=30, work_ms=20, pin_ms=10.0).facts()) == []
    slow = Played(load_ms=30, work_ms=20, pin_ms=60.0).facts()
    assert "pin_thread" not in causes(with_batches(slow, pin_us=NAN))


# worker_startup


def test_worker_startup_costs_what_workers_that_are_kept_save() -> None:
    played = [Played(load_ms=20, work_ms=20, startup_ms=ms, epochs=10, epoch_steps=30) for ms in (150.0, 500.0, 3000.0)]
    costs = [finding(each.facts(), "worker_startup").cost_fraction for each in played]
    assert is_growing(costs)
    assert costs == pytest.approx([each.cost_of(startup_ms=0.0) for each in played], abs=0.03)


def test_worker_startup_of_kept_workers_is_the_empty_queue() -> None:
    facts = Played(load_ms=180, work_ms=100, epochs=40, epoch_steps=4).facts()
    kept = with_loader(facts, {"persistent_workers": True})
    assert "though the workers are kept" in finding(kept, "worker_startup").sentence
    assert "worker_startup" not in causes(facts)


def test_an_epoch_has_as_many_steps_as_those_that_were_seen_to_their_end() -> None:
    """The judged steps begin and end in the middle of one, and a loop may leave each before it is exhausted."""
    facts = Played(load_ms=20, work_ms=20, startup_ms=500, epochs=7, epoch_steps=40).facts()
    (rank,) = facts.ranks

    def said_of(*ended: tuple[int, str | None]) -> tuple[str, object]:
        epochs = tuple(
            each.model_copy(update={"steps": steps, "ended": how})
            for each, (steps, how) in zip(rank.epochs, ended, strict=False)
        )
        found = finding(replace(facts, ranks=(replace(rank, epochs=epochs),)), "worker_startup")
        rows = {row.what: row.value for row in found.evidence}
        return found.sentence.partition(",")[0], rows["Steps of an epoch"]

    assert said_of(*[(40, "broken_off")] * 6, (11, "broken_off")) == ("An epoch has 40 steps", 40.0)
    assert said_of(*[(40, "exhausted"), (30, "exhausted")] * 3, (7, None)) == ("An epoch has 35 steps", 35.0)
    assert said_of(*[(3, "error")] * 6, (40, "exhausted")) == ("An epoch has 40 steps", 40.0)
    assert said_of(*[(40, None)] * 7) == ("6 epochs begin in 275 steps", None)


def test_worker_startup_is_silent_in_long_epochs() -> None:
    assert causes(Played(load_ms=20, work_ms=20, startup_ms=300, epochs=2, epoch_steps=900).facts()) == []


# slow_samples


def test_slow_samples_cost_what_waiting_in_order_costs() -> None:
    played = [Played(load_ms=[8.0] * 15 + [ms] + [8.0] * 14, work_ms=20) for ms in (150.0, 300.0, 900.0)]
    costs = [finding(each.facts(), "slow_samples").cost_fraction for each in played]
    assert is_growing(costs)
    assert costs == pytest.approx([each.cost_of(load_ms=8.0) for each in played], abs=0.03)


def test_slow_samples_are_slow_for_their_own_sake() -> None:
    uneven = Played(load_ms=[*[20.0] * 15, 400.0], work_ms=50).facts()
    assert causes(uneven)[0] == "slow_samples"
    loads = uneven.ranks[0].batches.load_us
    queued = with_batches(uneven, runqueue_us=np.maximum(0.0, loads - 20_000), cpu_us=np.minimum(loads, 20_000))
    assert "slow_samples" not in causes(queued), "the same photo loads fast once a core is free"
    (rank,) = queued.ranks
    crowded = replace(rank, process=replace(rank.process, host_busy_cores=8.0, process_cores=0.1, workers_cores=0.1))
    found = judge(replace(queued, ranks=(crowded,), host=queued.host.model_copy(update={"usable_cores": 8.0})))
    assert found.causes[0].cause == "cpu_limited"
    assert found.causes[0].sentence.startswith("Other jobs use 7.8 of the 8 cores")


def test_slow_samples_are_silent_where_all_loads_are_alike_or_no_longer_than_the_queue_covers() -> None:
    assert causes(Played(load_ms=60, work_ms=20).facts()) == ["too_few_workers"]
    assert causes(Played(load_ms=[8.0] * 29 + [50.0], work_ms=20).facts()) == []


# slow_sampler


def test_slow_sampler_costs_its_sampler_time() -> None:
    played = [Played(load_ms=20, work_ms=20, sampler_ms=ms) for ms in (4.0, 15.0, 60.0)]
    costs = [finding(each.facts(), "slow_sampler").cost_fraction for each in played]
    assert costs == pytest.approx([each.cost_of(sampler_ms=0.0) for each in played], abs=0.01)


def test_slow_sampler_is_silent_for_a_quick_one_or_one_that_was_not_measured() -> None:
    assert causes(Played(load_ms=20, work_ms=20, sampler_ms=0.1).facts()) == []
    slow = Played(load_ms=20, work_ms=20, sampler_ms=15.0).facts()
    assert "slow_sampler" not in causes(with_steps(slow, sampler_us=NAN))


# pageable_copy


def copying(exposed_ms: float, *, pinned: bool = False, wait_ms: float = 1.0) -> RunFacts:
    facts = made_run(wait_ms=wait_ms, work_ms=50.0, uses_gpu=True, gpu_idle_ms=wait_ms, queue_depth=3.0, num_workers=2)
    sampled = np.where(np.arange(300) % 17 == 0, exposed_ms * 1e3, np.nan)
    return with_loader(with_steps(facts, h2d_exposed_us=sampled, h2d_us=sampled), {"pin_memory": pinned})


def test_pageable_copy_costs_the_copy_that_is_not_hidden() -> None:
    found = [judge(copying(ms)) for ms in (6.0, 15.0, 40.0)]
    assert [each.bound for each in found] == ["transfer"] * 3
    assert [each.causes[0].cost_fraction for each in found] == pytest.approx([6 / 51, 15 / 51, 40 / 51])
    assert found[1].sentence == "The GPU waits for copies 29% of every step."


def test_pageable_copy_is_silent_for_pinned_memory_and_hidden_copies() -> None:
    assert judge(copying(15.0, pinned=True)).causes == []
    assert judge(copying(0.3)).bound == "compute"


def test_pageable_copy_stands_beside_the_causes_of_a_longer_wait() -> None:
    verdict = judge(copying(15.0, wait_ms=60.0))
    assert verdict.bound == "data"
    assert "pageable_copy" in {each.cause for each in verdict.causes}


# slow_rank


def lockstep(*waits_ms: float, step_ms: float = 100.0) -> RunFacts:
    """Ranks that all take ``step_ms`` a step."""
    return of_ranks(*(
        starved(wait_ms=wait_ms, work_ms=step_ms - wait_ms, load_cpu_ms=wait_ms) for wait_ms in waits_ms
    ))  # fmt: skip


def test_slow_rank_costs_what_it_waits_beyond_the_median() -> None:
    runs = [lockstep(2.0, 2.0, slow, 2.0) for slow in (20.0, 50.0, 80.0)]
    costs = [finding(run, "slow_rank").cost_fraction for run in runs]
    assert costs == pytest.approx([0.18, 0.48, 0.78])


def test_a_slow_rank_decides_over_all_and_is_marked_with_its_reason() -> None:
    verdict = judge(lockstep(2.0, 2.0, 60.0, 2.0))
    assert (verdict.bound, verdict.level) == ("data", "bound")
    assert [each.straggler for each in verdict.ranks] == [False, False, True, False]
    assert verdict.causes[0].cause == "slow_rank"
    assert "Rank 2" in verdict.causes[0].sentence and "num_workers=0" in verdict.causes[0].sentence


def test_a_slow_rank_costs_all_the_time_that_the_others_wait_for_it() -> None:
    verdict = judge(lockstep(*[2.0] * 7, 39.0))
    assert verdict.hours_lost is not None and verdict.hours_used is not None
    assert verdict.hours_lost / verdict.hours_used == pytest.approx(0.39, abs=0.01)
    alone = judge(of_ranks(*(starved(wait_ms=wait, work_ms=98.0, load_cpu_ms=wait) for wait in (2.0, 2.0, 300.0))))
    assert alone.hours_lost is not None and alone.hours_used is not None
    assert alone.hours_lost / alone.hours_used == pytest.approx(304 / 598, abs=0.01), "each at its own pace"


def test_of_several_slow_ranks_the_one_that_waits_longest_is_named() -> None:
    """Though another's steps are a little longer, by what is lost of their measurement."""
    usual, less, most = ((wait_ms, 100.0 - wait_ms) for wait_ms in (2.0, 40.0, 60.0))
    runs = [starved(wait_ms=wait, work_ms=work) for wait, work in (usual, usual, (less[0], less[1] + 1.0), usual, most)]
    assert "Rank 4" in finding(of_ranks(*runs), "slow_rank").sentence


def test_ranks_at_their_own_pace_are_judged_by_the_median() -> None:
    runs = [starved(wait_ms=wait_ms, work_ms=98.0, load_cpu_ms=wait_ms) for wait_ms in (2.0, 2.0, 300.0)]
    verdict = judge(of_ranks(*runs))
    assert verdict.bound == "compute"
    assert not any(each.straggler for each in verdict.ranks)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_rank_that_a_verdict_names_is_the_one_that_was_judged(count: int) -> None:
    runs = [starved(wait_ms=wait_ms, work_ms=98.0) for wait_ms in (20.0, 300.0, 90.0, 600.0, 150.0)[:count]]
    facts = of_ranks(*runs)
    assert reported_rank(judge(facts).ranks) == slow_ranks(facts.ranks).judged.rank


def test_ranks_that_all_wait_alike_have_no_slow_one() -> None:
    assert "slow_rank" not in causes(lockstep(60.0, 58.0, 62.0))


def synchronised(count: int, *, steps: int = 2_000, stall_ms: float = 1_000.0, seed: int = 0) -> RunFacts:
    """Each rank stalls in one step of a hundred, and all others wait for it inside the step. Work takes 100 ms."""
    waits = np.where(np.random.default_rng(seed).random((count, steps)) < 0.01, stall_ms, 0.0)
    longest = waits.max(axis=0)
    runs = []
    for own in waits:
        facts = made_run(steps=steps, wait_ms=list(own), work_ms=100.0, num_workers=2, load_blocked_ms=60.0)
        rank = facts.ranks[0]
        step_us = (100.0 + longest) * 1e3
        columns = {"step_us": step_us, "start_us": np.cumsum(step_us) - step_us}
        rank = replace(
            rank, steps=replace(rank.steps, **columns), total_step_us=float(np.sum(step_us)),
            total_data_wait_us=float(np.sum(own) * 1e3),
        )  # fmt: skip
        runs.append(replace(facts, ranks=(rank,)))
    return of_ranks(*runs)


def test_rare_stalls_of_many_ranks_cost_what_the_job_loses_by_them() -> None:
    facts = synchronised(64)
    verdict = judge(facts)
    share = 1 - 0.99**64
    lost = share * 1_000 / (100 + share * 1_000)
    assert (verdict.bound, verdict.level) == ("data", "bound")
    assert verdict.data_stall_fraction == pytest.approx(lost, rel=0.03)
    assert verdict.causes[0].cause == "slow_rank"
    assert verdict.causes[0].evidence[0].value == pytest.approx(share, abs=0.03)
    assert "one of 64 ranks is late" in verdict.causes[0].sentence
    assert verdict.hours_lost is not None and verdict.hours_used is not None
    assert verdict.hours_lost / verdict.hours_used == pytest.approx(lost, rel=0.03)
    assert verdict.instant_data_steps_per_s == pytest.approx(1 / 0.100, rel=0.01)
    assert not any(each.straggler for each in verdict.ranks)
    assert sum(each.cost_fraction for each in verdict.causes) <= lost * 1.03


def test_ranks_that_stall_by_themselves_keep_nobody_waiting() -> None:
    waits = np.where(np.random.default_rng(1).random((8, 2_000)) < 0.01, 1_000.0, 0.0)
    waits = np.take_along_axis(waits, np.argsort(np.random.default_rng(2).random(waits.shape), axis=1), axis=1)
    waits[:, -1] += 20_000.0 - waits.sum(axis=1).clip(max=20_000.0)
    alone = of_ranks(*(
        made_run(steps=2_000, wait_ms=list(own), work_ms=100.0, num_workers=2, load_blocked_ms=60.0) for own in waits
    ))  # fmt: skip
    assert "slow_rank" not in causes(alone)


def waiting(*waits_ms: float, load_ms: tuple[float, ...] = (35.0,)) -> RunFacts:
    """Ranks in step, 35 ms each, whose batches take ``load_ms``."""
    loads = np.resize(load_ms, len(waits_ms))
    return of_ranks(*(
        made_run(wait_ms=wait, work_ms=35.0 - wait, num_workers=1, load_blocked_ms=float(load))
        for wait, load in zip(waits_ms, loads, strict=True)
    ))  # fmt: skip


def test_what_a_slow_device_costs_is_said_of_the_steps_that_all_ranks_took() -> None:
    """In every other step the others wait 10 ms longer for their input than the slow one, else 20 ms."""
    slow, quick = ([4.0, 4.0], [14.0, 24.0])
    facts = of_ranks(*(
        made_run(wait_ms=waits, work_ms=35.0 - sum(waits) / 2, num_workers=1, load_blocked_ms=35.0)
        for waits in (quick, quick, slow)
    ))  # fmt: skip
    why = judge(facts).why
    assert why is not None and "by 15 ms or more" in why and "43% of every step" in why
    assert [each.works_longer for each in judge(facts).ranks] == [False, False, True]


def test_a_rank_that_works_longer_is_distinguished_from_one_whose_loader_is_slow() -> None:
    for facts in (waiting(20.0, 20.0, 4.0, 18.0), waiting(20.0, 4.0)):
        verdict = judge(facts)
        assert "slow_rank" not in [each.cause for each in verdict.causes]
        slow = 2 if len(facts.ranks) == 4 else 1
        assert verdict.why is not None and f"Rank {slow} works longer" in verdict.why
        assert slow_ranks(facts.ranks).judged.rank == reported_rank(verdict.ranks) == slow
        assert verdict.data_stall_fraction == pytest.approx(4 / 35)
        assert verdict.hours_lost is not None and verdict.hours_used is not None
        assert verdict.hours_lost / verdict.hours_used == pytest.approx(4 / 35)
        assert verdict.instant_data_steps_per_s == pytest.approx(1 / 0.031)
    assert "slow_rank" in causes(waiting(20.0, 4.0, load_ms=(35.0, 20.0)))
    for even in (waiting(20.0, 20.0, 19.0), waiting(2.0, 2.0, 2.0), waiting(4.0, 4.0, 20.0)):
        why = judge(even).why
        assert why is not None and "works longer" not in why
