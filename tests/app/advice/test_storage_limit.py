"""Storage that gives all its readers together no more: seen in the run, held in the simulation, said in the advice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.app.advice.made_case import changes, made_case, made_verdict, of, refused
from tests.app.advice.test_ranks import cores
from tests.app.advice.test_workers import two_workers
from tests.app.made_facts import made_place, made_run
from underfed_server.advice.advise import advise, recommend
from underfed_server.advice.prediction.predict import make_predictor
from underfed_server.advice.prediction.residuals import interval
from underfed_server.advice.prediction.simulate import (
    Batch,
    HandoverTimes,
    LoopInputs,
    SimulatedSetting,
    Work,
    simulate,
)
from underfed_server.diagnosis.judge import judge
from underfed_server.diagnosis.storage_rate import shown_storage, storage_rate
from underfed_server.facts.record import RunFacts
from underfed_server.model import ReadRate, StorageKind

A_LOAD_MS = 40.0
"""Blocked, of a load that has storage for itself."""


def reading(at_once: Sequence[int], *, is_shared: bool, kind: StorageKind = "network") -> RunFacts:
    """Stretches of 50 loads of which so many are in progress at once; the loop takes a batch in 20 ms, and waits."""
    number = np.repeat(np.asarray(at_once, dtype=float), 50)
    load_ms = A_LOAD_MS * (number if is_shared else np.ones(len(number)))
    apart_ms = load_ms / number
    start_us = (np.cumsum(apart_ms) - apart_ms) * 1e3
    facts = made_run(
        steps=len(number), num_workers=8, load_ms=list(load_ms), wait_ms=list(np.maximum(0.0, apart_ms - 20.0)),
        work_ms=20.0, queue_depth=0.0, busy_cores=0.3, process_cores=0.05, workers_cores=0.1,
    )  # fmt: skip
    (rank,) = facts.ranks
    rank = replace(rank, batches=replace(rank.batches, start_us=start_us, received_us=start_us + load_ms * 1e3))
    return replace(facts, ranks=(rank,), storage=(made_place(kind, file_system="nfs4"),))


def quick(facts: RunFacts, setting: SimulatedSetting) -> float:
    assert facts.loader is not None
    return make_predictor(facts.ranks[0], facts.loader, facts.host).quick(setting)


@pytest.mark.parametrize(("is_shared", "growth", "more"), [(True, 1.0, 1.0), (False, 0.0, 4.0)])
def test_the_rate_is_read_off_loads_that_were_few_and_many(is_shared: bool, growth: float, more: float) -> None:
    rate = storage_rate(reading((2, 8, 8, 8), is_shared=is_shared).ranks[0])
    assert rate is not None and rate.few_bytes_per_s and rate.many_bytes_per_s
    assert (rate.few, rate.many) == pytest.approx((2, 8), rel=0.1)
    assert rate.growth == pytest.approx(growth, abs=0.1)
    assert rate.many_bytes_per_s / rate.few_bytes_per_s == pytest.approx(more, rel=0.15)


def test_as_many_loads_all_the_time_do_not_show_it() -> None:
    assert storage_rate(reading((8, 8, 8, 8), is_shared=True).ranks[0]) is None


def test_storage_at_its_limit_is_named_and_more_workers_are_refused() -> None:
    facts = reading((2, 8, 8, 8), is_shared=True)
    verdict = judge(facts)
    assert [each.cause for each in verdict.causes][:1] == ["storage_limit"]
    found = advise(facts, verdict)
    assert "num_workers" not in changes(found)
    assert "no more, however many" in refused("num_workers", found).why


def test_storage_that_serves_each_reader_is_not_blamed() -> None:
    facts = reading((2, 8, 8, 8), is_shared=False)
    assert "storage_limit" not in [each.cause for each in judge(facts).causes]


def test_more_readers_of_a_shared_rate_are_simulated_to_gain_nothing() -> None:
    shared = reading((4, 8, 8, 8), is_shared=True)
    assert quick(shared, SimulatedSetting(16)) == pytest.approx(1.0, abs=0.05)
    assert quick(shared, SimulatedSetting(6)) == pytest.approx(1.0, abs=0.05)
    assert quick(shared, SimulatedSetting(2)) == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(("kind", "is_promised"), [("network", False), ("unknown", False), ("nvme", True)])
def test_what_was_not_seen_of_storage_is_tried_and_not_promised(kind: StorageKind, is_promised: bool) -> None:
    """Loads of 320 ms, eight at once all the time: 16 may load twice as fast, or as fast as now."""
    facts = reading((8, 8, 8, 8), is_shared=True, kind=kind)
    best = of("num_workers", advise(facts, judge(facts)))
    assert best.to == 16
    assert (best.predicted_speedup is not None) == is_promised
    if not is_promised:
        assert best.assumption is not None and best.low is not None
        assert "storage gives to more readers" in best.assumption and "Try it" in best.assumption
        # As far below "no more" as predictions of blocked loads are off.
        assert math.exp(interval("blocked")[0]) - 0.02 <= best.low <= 1.06


@pytest.mark.parametrize(("speedup", "is_promised"), [(1.08, False), (1.15, True)])
def test_a_gain_that_nearly_all_depends_on_more_readers_is_not_promised(speedup: float, is_promised: bool) -> None:
    """The made interval reaches 5 % down: less is left than a change is worth, or as much."""
    best = of("num_workers", recommend(made_case(two_workers(), made_verdict(), lambda _: speedup, adds_readers=True)))
    assert (best.predicted_speedup is not None) == is_promised


@pytest.mark.parametrize(("workers", "expected_ms"), [(1, 100), (2, 50), (4, 50), (8, 50)])
def test_readers_beyond_those_that_storage_serves_share_what_these_get(workers: int, expected_ms: float) -> None:
    inputs = LoopInputs([Batch(0, 100_000)], [Work(0, 10_000)], HandoverTimes(), cores(8.0), readers=2.0)
    assert simulate(inputs, SimulatedSetting(workers)).step_us / 1e3 == pytest.approx(expected_ms, rel=0.02)


SHARE = "filer:/export"


def elsewhere(facts: RunFacts, *others: ReadRate) -> RunFacts:
    """The run on a share, with what other runs read from it."""
    place = made_place("network", file_system="nfs4", device=SHARE)
    return replace(facts, storage=(place,), read_elsewhere=others)


def other(times: float, *, is_limited: bool = False, sample_bytes: float = 1e6 / 32, place: str = SHARE) -> ReadRate:
    """A run that read so many times as much as eight readers of :func:`reading` do."""
    return ReadRate(
        place=place, readers=8 * times, bytes_per_s=25e6 * times, sample_bytes=sample_bytes, is_limited=is_limited
    )


def test_what_a_run_reads_from_a_share_is_said_of_all_its_ranks() -> None:
    facts = elsewhere(reading((8, 8, 8, 8), is_shared=True))
    rate = shown_storage(facts, facts.ranks[0]).read
    assert rate is not None and not rate.is_limited
    assert rate.place == SHARE
    assert rate.readers == pytest.approx(8, rel=0.05)
    assert rate.bytes_per_s == pytest.approx(25e6, rel=0.05)
    both = replace(facts, ranks=(facts.ranks[0], replace(facts.ranks[0], rank=1, hostname="another")))
    twice = shown_storage(both, both.ranks[0]).read
    assert twice is not None and twice.bytes_per_s == pytest.approx(2 * rate.bytes_per_s, rel=0.01)
    nameless = replace(facts, storage=(made_place("network", file_system="nfs4"),))
    assert shown_storage(nameless, nameless.ranks[0]).read is None


def promised(facts: RunFacts) -> tuple[str, float | None]:
    found = [each for each in advise(facts, judge(facts)).advice if each.change == "num_workers"]
    return ("promised" if found[0].predicted_speedup else "tried", found[0].low) if found else ("not offered", None)


def test_where_another_run_read_more_with_more_readers_more_are_promised() -> None:
    facts = reading((8, 8, 8, 8), is_shared=True)
    assert promised(elsewhere(facts))[0] == "tried"
    seen, low = promised(elsewhere(facts, other(2.5)))
    assert seen == "promised" and low is not None and low > 1.3


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ((other(1.0, is_limited=True),), "not offered"),
        ((other(1.0, is_limited=True), other(2.5)), "promised"),
        ((other(0.5, is_limited=True, sample_bytes=100.0),), "tried"),
        ((other(2.5, sample_bytes=1e6),), "tried"),
        ((other(2.5, place="filer:/other"),), "tried"),
    ],
    ids=["flat", "flat once, and more at another time", "flat of small reads", "more of large reads", "another share"],
)
def test_what_other_runs_saw_of_a_share_counts_as_far_as_it_is_alike(
    others: tuple[ReadRate, ...], expected: str
) -> None:
    assert promised(elsewhere(reading((8, 8, 8, 8), is_shared=True), *others))[0] == expected


def test_what_other_runs_read_stands_in_the_sentence() -> None:
    facts = reading((2, 8, 8, 8), is_shared=True)
    same, more = (judge(elsewhere(facts, other(times))).causes[0] for times in (1.0, 4.0))
    assert (same.cause, more.cause) == ("storage_limit", "storage_limit")
    assert "One other run read 23.8 MiB/s from it with 8 readers: no more" in same.sentence
    assert "read 95.4 MiB/s from it with 32 readers: it can give more" in more.sentence
    assert {each.what: each.value for each in more.evidence}["Most that another run read from it"] == 100e6
