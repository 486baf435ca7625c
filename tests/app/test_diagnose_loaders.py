"""Judging a run with several loaders through the store: which one its verdict is about, what is said of the others."""

from __future__ import annotations

import pytest

from tests.app.made_loops import Thread, zipped
from tests.app.store.posting import post
from underfed_server.diagnose import Diagnoser, LoaderDiagnoses
from underfed_server.model import Diagnosis, LoaderLine
from underfed_server.store.store import Store


def judged(store: Store, judge: Diagnoser, *threads: Thread, **changes: object) -> Diagnosis:
    """After what the threads did since the last time."""
    post(store, [thread.window(**changes) for thread in threads])
    judge(store, threads[0].run_id)
    diagnosis = store.diagnosis(threads[0].run_id)
    assert diagnosis is not None
    return diagnosis


def lines(diagnosis: Diagnosis) -> dict[str, LoaderLine]:
    return {line.loader: line for line in diagnosis.loaders}


def test_of_zipped_loaders_the_starving_one_is_judged_and_both_waits_are_summed(store: Store) -> None:
    thread = Thread(images=2, labels=0)
    zipped(thread, 100, work=36, images=4, labels=60)
    diagnosis = judged(store, Diagnoser(), thread)
    assert (diagnosis.loader, diagnosis.bound, diagnosis.causes[0].cause) == ("labels", "data", "no_workers")
    assert diagnosis.sentence == "The training loop waits for data 64% of every step: 60% for labels, 4.0% for images."
    assert diagnosis.anatomy is not None
    assert diagnosis.anatomy.data_wait_us == 60_000
    assert diagnosis.anatomy.compute_us == pytest.approx(36_000, abs=100)
    assert diagnosis.anatomy.others_wait_us == pytest.approx(4_000, abs=100)
    assert diagnosis.instant_data_steps_per_s == pytest.approx(1 / 0.036, rel=0.01)
    best = diagnosis.advice[0]
    assert (best.change, best.loader) == ("num_workers", "labels")
    assert best.predicted_speedup is not None
    assert best.predicted_speedup <= 100 / 40 * 1.01, "the wait for the other loader stays"
    assert best.anatomy is not None
    assert best.anatomy.others_wait_us == diagnosis.anatomy.others_wait_us
    assert best.anatomy.compute_us == pytest.approx(36_000, rel=0.05)
    found = lines(diagnosis)
    assert [(name, line.role, line.bound) for name, line in found.items()] == [
        ("images", "train", "compute"), ("labels", "train", "data"),
    ]  # fmt: skip
    assert [line.level for line in found.values()] == ["healthy", "bound"]
    assert diagnosis.hours_used == pytest.approx(100 * 0.1 / 3600, rel=0.01), "one loop, counted once"
    assert diagnosis.hours_lost == pytest.approx(100 * 0.064 / 3600, rel=0.01)


def test_loaders_of_one_loop_have_its_share_of_the_run_whosever_epochs_begin_in_their_steps(store: Store) -> None:
    thread = Thread(short=2, long=0)
    thread.begin("long")
    for _ in range(8):
        thread.begin("short", constructing=300)
        for _ in range(20):
            thread.ask("short", 5)
            thread.ask("long", 60)
            thread.work(20)
        thread.exhaust("short")
    thread.exhaust("long")
    diagnosis = judged(store, Diagnoser(), thread)
    assert {line.share_of_run_fraction for line in diagnosis.loaders} == {1.0}
    assert (diagnosis.loader, {one.run_speedup for one in diagnosis.advice}) == ("long", {None}), "the loop is the run"


def test_waits_that_are_small_each_bind_their_loop_together(store: Store) -> None:
    thread = Thread(a=0, b=0)
    zipped(thread, 100, work=85, a=8, b=7)
    diagnosis = judged(store, Diagnoser(), thread)
    assert (diagnosis.loader, diagnosis.bound, diagnosis.level) == ("a", "data", "limited")
    assert diagnosis.sentence == "The training loop waits for data 15% of every step: 8.0% for a, 7.0% for b."
    assert diagnosis.data_stall_fraction == pytest.approx(0.08)


def test_a_validation_that_costs_is_judged_where_training_is_healthy(store: Store) -> None:
    thread = Thread(train=2, val=0)
    for _ in range(3):
        thread.run_through("train", 60, 1, 49)
        thread.run_through("val", 20, 90, 10)
    diagnosis = judged(store, Diagnoser(), thread)
    assert (diagnosis.loader, diagnosis.bound) == ("val", "data")
    assert diagnosis.sentence == (
        "37.2% of the time in the loops goes to waiting for data: 36.0% for the validation loader val, "
        "1.2% for the training loader train."
    )
    found = lines(diagnosis)
    assert (found["train"].role, found["train"].bound, found["train"].steps) == ("train", "compute", 180)
    assert (found["val"].role, found["val"].bound, found["val"].steps) == ("validation", "data", 60)
    assert found["val"].share_of_run_fraction == pytest.approx(0.4, abs=0.01)
    assert found["val"].data_stall_fraction == pytest.approx(0.9)
    assert found["val"].hours_lost == pytest.approx(60 * 0.09 / 3600)
    assert diagnosis.hours_lost == pytest.approx(found["val"].hours_lost + found["train"].hours_lost)
    assert {advice.loader for advice in diagnosis.advice} == {"val"}
    commands = [advice.command for advice in diagnosis.advice if advice.settings]
    assert commands[0] == "underfed run --apply run-1 -- python train.py"
    assert all("--set val." in str(command) for command in commands[1:]), "of this loader alone"


@pytest.mark.parametrize(("val_steps", "is_said"), [(40, True), (4, False)])
def test_a_validation_that_costs_is_said_beside_a_verdict_on_training(
    store: Store, val_steps: int, is_said: bool
) -> None:
    thread = Thread(train=0, val=0)
    for _ in range(5):
        thread.run_through("train", 60, 50, 50)
        thread.run_through("val", val_steps, 40, 10)
    diagnosis = judged(store, Diagnoser(), thread)
    assert (diagnosis.loader, diagnosis.bound) == ("train", "data")
    shares = "37.5% for the training loader train, 20.0% for the validation loader val"
    expected = f"57.5% of the time in the loops goes to waiting for data: {shares}."
    assert (diagnosis.sentence == expected) is is_said


def test_a_validation_that_costs_little_is_left_to_its_own_diagnosis(store: Store) -> None:
    thread = Thread(train=2, val=0)
    for _ in range(5):
        thread.run_through("train", 200, 0.1, 50)
        thread.run_through("val", 5, 60, 10)
    diagnosis = judged(store, Diagnoser(), thread)
    assert (diagnosis.loader, diagnosis.bound, diagnosis.level) == ("train", "compute", "healthy")
    assert lines(diagnosis)["val"].bound == "data"


def test_a_check_before_training_decides_nothing(store: Store) -> None:
    thread, judge = Thread(train=0, val=0), Diagnoser()
    thread.run_through("val", 2, 2_000, 10)
    checked = judged(store, judge, thread)
    assert (checked.loader, checked.bound) == ("val", "unknown")
    thread.run_through("train", 60, 20, 30)
    trained = judged(store, judge, thread)
    assert (trained.loader, trained.bound) == ("train", "data"), "though it lost less so far"


def test_a_loader_stays_judged_until_another_loses_clearly_more(store: Store) -> None:
    thread, judge = Thread(a=0, b=0), Diagnoser()
    zipped(thread, 60, work=20, a=40, b=30)
    assert judged(store, judge, thread).loader == "a"
    zipped(thread, 60, work=20, a=30, b=45)
    assert judged(store, judge, thread).loader == "a", "4.2 s against 4.5"
    zipped(thread, 60, work=20, a=5, b=60)
    assert judged(store, judge, thread).loader == "b"
    zipped(thread, 60, work=20, a=60, b=5)
    assert judged(store, judge, thread).loader == "b", "8.1 s against 8.4"
    fresh = Diagnoser()
    fresh(store, "run-1")
    kept = store.diagnosis("run-1")
    assert kept is not None and kept.loader == "b", "a service that was started again goes on with it"


def test_another_loader_is_judged_by_fewer_steps_though_retention_deleted_some(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread, judge = Thread(a=0, b=0), Diagnoser()
    zipped(thread, 100, work=20, a=40)
    assert judged(store, judge, thread).loader == "a"
    monkeypatch.setattr(Store, "rows_deleted_at", lambda *_: store.now())
    thread.run_through("b", 60, 200, 20)
    assert judged(store, judge, thread).loader == "b"


def test_an_ended_run_keeps_the_loader_of_its_verdict(store: Store) -> None:
    thread, judge = Thread(a=0, b=0), Diagnoser()
    zipped(thread, 60, work=20, a=40, b=30)
    zipped(thread, 60, work=20, a=10, b=50)
    ended = judged(store, judge, thread, end={"status": "finished"})
    assert (ended.loader, ended.status) == ("b", "finished")
    zipped(thread, 60, work=20, a=90, b=0)
    late = judged(store, judge, thread, end={"status": "finished"})
    assert late.loader == "b"


def test_all_ranks_count_for_what_a_loader_loses(store: Store) -> None:
    threads = [Thread(rank=rank, a=0, b=0) for rank in range(3)]
    zipped(threads[0], 60, work=20, a=60, b=10)
    for thread in threads[1:]:
        zipped(thread, 60, work=20, a=10, b=60)
    diagnosis = judged(store, Diagnoser(), *threads)
    assert diagnosis.loader == "b"
    assert lines(diagnosis)["a"].hours_lost == pytest.approx(60 * 0.08 / 3600)
    assert lines(diagnosis)["b"].hours_lost == pytest.approx(60 * 0.13 / 3600)


def test_what_all_ranks_wait_for_a_straggler_counts_for_its_loader(store: Store) -> None:
    threads = [Thread(rank=rank, a=0, b=0) for rank in range(4)]
    for rank, thread in enumerate(threads):
        wait = 60 if rank == 3 else 1
        thread.run_through("a", 60, 20, 30)
        thread.run_through("b", 60, wait, 80 - wait)
    diagnosis = judged(store, Diagnoser(), *threads)
    assert diagnosis.loader == "b", "by itself rank 3 waits less for it than all four for the other"
    found = lines(diagnosis)
    assert found["b"].hours_lost == pytest.approx(4 * 60 * 0.06 / 3600)
    assert found["a"].hours_lost == pytest.approx(4 * 60 * 0.02 / 3600)
    assert (found["a"].rank, found["b"].rank) == (None, 3)


def test_a_straggler_of_another_loader_than_the_judged_one_is_named_too(store: Store) -> None:
    threads = [Thread(rank=rank, a=0, b=0) for rank in range(4)]
    for rank, thread in enumerate(threads):
        wait = 60 if rank == 3 else 1
        thread.run_through("a", 200, 30, 20)
        thread.run_through("b", 40, wait, 80 - wait)
    diagnosis = judged(store, Diagnoser(), *threads)
    assert diagnosis.loader == "a"
    found = lines(diagnosis)
    assert (found["a"].rank, found["b"].rank) == (None, 3)
    assert found["b"].hours_lost == pytest.approx(4 * 40 * 0.06 / 3600)
    assert diagnosis.hours_lost == pytest.approx(found["a"].hours_lost + found["b"].hours_lost)


def test_one_step_in_two_that_waits_is_not_every_step(store: Store) -> None:
    thread = Thread(train=2)
    thread.begin("train")
    for place in range(100):
        thread.ask("train", 60 if place % 2 else 0.1)
        thread.work(30)
    diagnosis = judged(store, Diagnoser(), thread)
    assert diagnosis.sentence == "The training loop waits for data 50% of the time."


def test_advice_is_computed_again_when_the_loader_changes(store: Store) -> None:
    thread, judge = Thread(a=0, b=0), Diagnoser()
    zipped(thread, 200, work=20, a=40, b=10)
    assert {advice.loader for advice in judged(store, judge, thread).advice} == {"a"}
    zipped(thread, 40, work=20, a=5, b=300)
    changed = judged(store, judge, thread)
    assert changed.loader == "b"
    assert {advice.loader for advice in changed.advice} == {"b"}


def test_what_advice_gained_is_measured_with_the_loader_that_it_was_for(store: Store) -> None:
    judge = Diagnoser()
    before = Thread("before", train=0, val=0)
    for _ in range(3):
        before.run_through("train", 60, 120, 50)
        before.run_through("val", 30, 60, 10)
    advice = judged(store, judge, before).advice[0]
    assert (advice.change, advice.loader) == ("num_workers", "train")
    assert isinstance(advice.to, int)
    after = Thread("after", train=advice.to, val=0)
    for _ in range(3):
        after.run_through("train", 60, 1, 49)
        after.run_through("val", 30, 60, 10)
    window = after.window(started_at="2026-11-20T11:00:00Z")
    window["loaders"][0]["settings"]["prefetch_factor"] = 2
    post(store, [window])
    judge(store, "after")
    later = store.diagnosis("after")
    assert later is not None and later.loader == "val"
    (entry,) = later.ledger
    assert entry.advice_of == "before"
    assert entry.observed_speedup == pytest.approx(170 / 50, rel=0.01)
    of_each = {loader: LoaderDiagnoses().read(store, "after", loader).ledger for loader in ("train", "val")}
    assert of_each == {"train": [entry], "val": []}, "it follows the loader that is looked at"


def read_by_a_thread(store: Store, wait: float, rest: float, **known: bool) -> Diagnosis:
    thread = Thread(train=0)
    thread.run_through("train", 100, wait, rest, in_background=True, **{"grad_enabled": True, **known})
    return judged(store, Diagnoser(), thread)


def test_a_thread_that_reads_ahead_and_is_held_up_shows_that_training_waits_for_nothing(store: Store) -> None:
    diagnosis = read_by_a_thread(store, 15, 5)
    assert (diagnosis.bound, diagnosis.level, diagnosis.advice) == ("compute", "healthy", [])
    assert diagnosis.sentence == (
        "The training loop is kept busy: a thread reads ahead for it, and waits for it 25% of the time."
    )
    assert diagnosis.anatomy is not None
    assert (diagnosis.anatomy.data_wait_us, diagnosis.anatomy.compute_us) == (0, 20_000)
    assert (diagnosis.hours_lost, lines(diagnosis)["train"].hours_lost) == (0.0, 0.0)
    assert diagnosis.instant_data_steps_per_s == pytest.approx(50)


def test_a_thread_that_reads_ahead_and_is_never_held_up_starves_but_not_by_how_much(store: Store) -> None:
    """What the training would take is not seen, so no gain is computed from what the thread does."""
    diagnosis = read_by_a_thread(store, 20, 0.01)
    assert (diagnosis.bound, diagnosis.causes[0].cause) == ("data", "no_workers")
    assert diagnosis.sentence == (
        "The thread that reads ahead for the training loop waits for data 100% of the time, and never for it."
    )
    assert diagnosis.reason is not None
    assert "reads ahead" in diagnosis.reason
    assert diagnosis.confidence != "high"
    assert diagnosis.instant_data_steps_per_s is None
    assert [(each.change, each.to, each.predicted_speedup) for each in diagnosis.advice] == [("num_workers", 2, None)]
    assert diagnosis.advice[0].high is None


def test_a_thread_that_evaluates_is_no_reader(store: Store) -> None:
    diagnosis = read_by_a_thread(store, 15, 5, grad_enabled=False)
    assert diagnosis.sentence == "The training loop waits for data 75% of every step."


def test_what_a_thread_that_reads_ahead_waits_for_is_not_waited_for_in_the_validation(store: Store) -> None:
    thread = Thread(train=0, val=0)
    thread.begin("train", in_background=True, grad_enabled=True)
    for _ in range(60):
        thread.ask("train", 15)
        thread.work(5)
    thread.begin("val", grad_enabled=False, in_background=False)
    for _ in range(40):
        thread.ask("val", 4)
        thread.ask("train", 15)
        thread.work(1)
    thread.exhaust("val")
    thread.exhaust("train")
    found = lines(judged(store, Diagnoser(), thread))
    assert found["val"].role == "validation"
    assert found["val"].data_stall_fraction == pytest.approx(0.2, abs=0.01)
    assert (found["train"].role, found["train"].bound) == ("train", "compute")
