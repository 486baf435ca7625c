"""Judging through the store: what is saved, when advice is computed again, and what later runs show of earlier
advice."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.app.made_windows import RUN, made_window
from tests.app.store.posting import post, settle
from underfed_server import diagnose, earlier
from underfed_server.advice.advise import advise
from underfed_server.diagnose import Diagnoser
from underfed_server.facts.condense import condense
from underfed_server.model import Diagnosis
from underfed_server.store.store import Store
from underfed_server.store.team.retention_policy import RetentionPolicy
from underfed_server.store.upkeep.retention import Retention

LOAD_MS, WORK_MS = 120, 50
HOST = {"cpu_count": 8, "usable_cores": 8.0, "cpu_slowdown": [[1, 1.0], [8, 1.0]]}
STEPS = 10


def record(
    store: Store, run_id: str, windows: range, *, num_workers: int, wait_ms: int, started_at: str, **said: Any
) -> None:
    """Windows of ten even steps; loads take 120 ms of CPU wherever they run."""
    step_us = (wait_ms + WORK_MS) * 1_000
    for index in windows:
        start_us = index * STEPS * step_us
        each = range(index * STEPS, (index + 1) * STEPS)
        instants = [start_us, start_us + STEPS * step_us]
        settings = {"num_workers": num_workers, "prefetch_factor": 2 if num_workers else None, "batch_size": 32}
        window = made_window(
            index,
            run_id=run_id,
            started_at=started_at,
            start_us=start_us,
            end_us=instants[1],
            steps=[
                {
                    "loader": "train",
                    "epoch_index": 0,
                    "first_step_index": each[0],
                    "first_batch_index": each[0],
                    "start_us": start_us,
                    "step_us": [step_us] * STEPS,
                    "data_wait_us": [wait_ms * 1_000] * STEPS,
                }
            ],
            batches=[_batches(each, step_us, num_workers)],
            process={"at_us": instants, "process_cpu_us": instants, "workers_cpu_us": [0, 0]},
            host={"at_us": instants, "busy_cores": [1.0, 1.0]},
            loaders=[{"loader": "train", "settings": settings}],
        )
        if index == 0:
            window["run"] = RUN | {"host": HOST} | said
        post(store, [window])


def _batches(each: range, step_us: int, num_workers: int) -> dict[str, Any]:
    count = len(each)
    return {
        "loader": "train",
        "epoch_index": 0,
        "batch_index": list(each),
        "worker": [index % num_workers for index in each] if num_workers else None,
        "start_us": [index * step_us for index in each],
        "load_us": [LOAD_MS * 1_000] * count,
        "cpu_us": [LOAD_MS * 1_000] * count,
        "runqueue_us": [0] * count,
        "blocked_us": [0] * count,
        "samples": [32] * count,
    }


def end(store: Store, run_id: str, index: int, started_at: str) -> None:
    window = made_window(index, run_id=run_id, started_at=started_at, end={"status": "finished"})
    at_us = 100_000_000
    post(store, [window | {"start_us": at_us, "end_us": at_us + 1}])


def judged(store: Store, judge: Diagnoser, run_id: str) -> Diagnosis:
    judge(store, run_id)
    diagnosis = store.diagnosis(run_id)
    assert diagnosis is not None
    return diagnosis


EARLY, LATE = "2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z"


def test_the_diagnosis_is_saved_with_its_advice(store: Store) -> None:
    record(store, "before", range(10), num_workers=0, wait_ms=LOAD_MS, started_at=EARLY)
    diagnosis = judged(store, Diagnoser(), "before")
    assert (diagnosis.bound, diagnosis.causes[0].cause) == ("data", "no_workers")
    assert diagnosis.judged_steps == 95
    best = diagnosis.advice[0]
    assert (best.change, best.from_, best.to) == ("num_workers", 0, 3)
    assert store.summary("before").best_advice is not None


def test_advice_is_made_anew_when_the_run_has_grown_by_a_quarter(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made_for: list[int] = []

    def counted(facts: Any, *beside: Any) -> Any:
        made_for.append(facts.steps)
        return advise(facts, *beside)

    monkeypatch.setattr(diagnose, "advise", counted)
    judge = Diagnoser()
    for windows in (range(8), range(8, 9), range(9, 10)):
        record(store, "before", windows, num_workers=0, wait_ms=LOAD_MS, started_at=EARLY)
        assert judged(store, judge, "before").advice
    assert made_for == [80, 100]
    end(store, "before", 10, EARLY)
    judge(store, "before")
    assert made_for == [80, 100, 100], "the run has ended"


def test_what_a_change_gained_is_in_the_diagnosis_of_both_runs(store: Store) -> None:
    judge = Diagnoser()
    record(store, "before", range(10), num_workers=0, wait_ms=LOAD_MS, started_at=EARLY)
    advised = judged(store, judge, "before").advice[0]
    assert isinstance(advised.to, int)
    record(store, "after", range(30), num_workers=advised.to, wait_ms=2, started_at=LATE)
    running = judged(store, judge, "after")
    assert [entry.advice_of for entry in running.ledger] == ["before"]
    earlier = store.diagnosis("before")
    assert earlier is not None and earlier.ledger == [], "known when the later run has ended"
    end(store, "after", 30, LATE)
    (entry,) = judged(store, judge, "after").ledger
    assert entry.observed_speedup == pytest.approx(170 / 52, rel=0.01)
    earlier = store.diagnosis("before")
    assert earlier is not None and earlier.ledger == [entry]
    again = judged(store, judge, "before")
    assert again.ledger == [entry], "and stays when the earlier run is judged again"


def test_what_a_change_gained_counts_in_intervals_for_later_runs_on_its_host(store: Store) -> None:
    record(store, "before", range(10), num_workers=0, wait_ms=LOAD_MS, started_at=EARLY)
    advised = judged(store, Diagnoser(), "before").advice[0]
    assert isinstance(advised.to, int) and advised.predicted_speedup
    record(store, "after", range(30), num_workers=advised.to, wait_ms=2, started_at=LATE)
    (entry,) = judged(store, Diagnoser(), "after").ledger
    record(store, "later", range(10), num_workers=0, wait_ms=LOAD_MS, started_at=LATE, job="another")

    def proven(run_id: str, **changes: Any) -> tuple[float, ...]:
        facts = earlier.read_facts(store, run_id, lambda _loaders, _status: "train")
        ranks = tuple(replace(rank, **changes) for rank in facts.ranks)
        return earlier.with_proven(store, replace(facts, ranks=ranks)).proven

    assert entry.observed_speedup
    assert proven("later") == pytest.approx([math.log(entry.observed_speedup / advised.predicted_speedup)])
    assert proven("later", hostname="elsewhere") == ()
    assert proven("after") == proven("before") == (), "not by what it shows itself"


def test_what_a_change_gained_is_kept_when_the_steps_before_it_were_deleted(store: Store) -> None:
    record(store, "before", range(10), num_workers=0, wait_ms=LOAD_MS, started_at=EARLY)
    end(store, "before", 10, EARLY)
    settle(store)
    diagnosis = judged(store, Diagnoser(), "before")
    advised = diagnosis.advice[0].to
    assert isinstance(advised, int)
    record(store, "after", range(10), num_workers=advised, wait_ms=2, started_at=LATE)
    ledger = judged(store, Diagnoser(), "after").ledger
    assert [entry.advice_of for entry in ledger] == ["before"]
    Retention(store, RetentionPolicy(retain_us=1)).delete_surplus()
    assert len(store.steps("before", 0, "train")) == 0
    assert Diagnoser()(store, "before") is None
    assert store.diagnosis("before") == diagnosis
    record(store, "after", range(10, 12), num_workers=advised, wait_ms=2, started_at=LATE)
    assert judged(store, Diagnoser(), "after").ledger == ledger
    record(store, "too-late", range(10), num_workers=advised, wait_ms=2, started_at=LATE)
    assert judged(store, Diagnoser(), "too-late").ledger == [], "there is nothing left to compare with"


def test_an_equal_diagnosis_is_no_change(store: Store) -> None:
    judge = Diagnoser()
    record(store, "before", range(10), num_workers=0, wait_ms=LOAD_MS, started_at=EARLY)
    end(store, "before", 10, EARLY)
    judgements = [judge(store, "before") for _ in range(3)]
    assert [each is not None and each.is_new for each in judgements] == [True, False, False]


def test_the_earlier_run_is_read_again_only_when_the_later_one_has_grown(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(store: Store, run_id: str, **limits: Any) -> Any:
        read.append(run_id)
        return condense(store, run_id, **limits)

    judge = Diagnoser()
    record(store, "before", range(10), num_workers=0, wait_ms=LOAD_MS, started_at=EARLY)
    advised = judged(store, judge, "before").advice[0]
    assert isinstance(advised.to, int)
    monkeypatch.setattr(earlier, "condense", counted)
    for windows in (range(8), range(8, 9), range(9, 10)):
        record(store, "after", windows, num_workers=advised.to, wait_ms=2, started_at=LATE)
        (entry,) = judged(store, judge, "after").ledger
        assert entry.observed_speedup == pytest.approx(170 / 52, rel=0.01)
    assert read == ["after", "before", "after", "after", "before"]


def test_the_run_that_apply_named_is_the_one_compared_with(store: Store) -> None:
    judge = Diagnoser()
    for run_id, started_at in (("first", "2026-11-20T08:00:00Z"), ("second", EARLY)):
        record(store, run_id, range(10), num_workers=0, wait_ms=LOAD_MS, started_at=started_at)
        advised = judged(store, judge, run_id).advice[0]
    assert isinstance(advised.to, int)
    record(store, "by-hand", range(10), num_workers=advised.to, wait_ms=2, started_at=LATE)
    assert judged(store, judge, "by-hand").ledger[0].advice_of == "second", "the newest"
    named = {"overrides": {"num_workers": advised.to}, "advice_of": "first"}
    record(store, "applied", range(10), num_workers=advised.to, wait_ms=2, started_at=LATE, **named)
    assert judged(store, judge, "applied").ledger[0].advice_of == "first"
    record(store, "gone", range(10), num_workers=advised.to, wait_ms=2, started_at=LATE, advice_of="no-such-run")
    assert judged(store, judge, "gone").ledger[0].advice_of == "second"


def test_a_run_without_the_loader_that_was_advised_shows_nothing_of_it(store: Store) -> None:
    """Another one with the same settings is not the one that they were advised for, unless it is the only one."""
    record(store, "before", range(10), num_workers=0, wait_ms=LOAD_MS, started_at=EARLY)
    advised = judged(store, Diagnoser(), "before").advice[0].to
    assert isinstance(advised, int)
    record(store, "after", range(10), num_workers=advised, wait_ms=2, started_at=LATE)
    facts = earlier.read_facts(store, "after", earlier.named("train"))
    (own,) = facts.loaders
    assert facts.loader is not None

    def is_paired(*loaders: str) -> bool:
        info = facts.loader and facts.loader.model_copy(update={"loader": loaders[0]})
        lines = tuple(replace(own, loader=loader) for loader in loaders)
        return earlier.find_pairing(store, replace(facts, loader=info, loaders=lines)) is not None

    assert is_paired("train") and is_paired("renamed")
    assert not is_paired("one", "other")


def test_a_replay_is_shown_with_every_run_of_the_job_that_has_its_settings(store: Store) -> None:
    judge, measured = Diagnoser(), {"batches": 20, "real_steps_per_s": 5.9, "instant_steps_per_s": 19.5}
    for run_id, workers, said in (
        ("before", 0, {}),
        ("others", 2, {}),
        ("replaying", 0, {"replay": measured}),
        ("afterwards", 0, {}),
    ):
        record(store, run_id, range(10), num_workers=workers, wait_ms=LOAD_MS, started_at=EARLY, **said)
        assert (judged(store, judge, run_id).replay is None) == (run_id in ("before", "others"))
    end(store, "replaying", 10, EARLY)
    judge(store, "replaying")
    for run_id in ("before", "replaying", "afterwards"):
        diagnosis = store.diagnosis(run_id)
        assert diagnosis and diagnosis.replay
        assert diagnosis.replay.model_dump() == {"run_id": "replaying", **measured}
    others = store.diagnosis("others")
    assert others and others.replay is None
