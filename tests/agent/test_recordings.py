"""What arrives at a service from real loaders: every step once, times that add up, and what each load was made of."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader

import underfed
from tests.fakes.datasets import Busy, Failing, NoLength, Numbers, Stream, slow_collate
from tests.fakes.service import Service, Window, wait_until
from underfed.trainer.hooks import install, session
from underfed.trainer.hooks.requests import Requests

MS = 1_000


def draw(loader: DataLoader[Any], epochs: int = 1, work_s: float = 0.0) -> None:
    for _ in range(epochs):
        for _ in loader:
            time.sleep(work_s)


def finish(service: Service) -> None:
    underfed.finish()
    wait_until(service.ends, "the end arrives")


def record(service: Service, loader: DataLoader[Any], epochs: int = 1, work_s: float = 0.0) -> None:
    """Train on a loader of that name and wait until everything is there."""
    draw(underfed.watch(loader, name="train"), epochs, work_s)
    finish(service)


def column(parts: Sequence[Window], name: str) -> list[Any]:
    return [value for part in parts for value in part[name]]


def all_steps(service: Service) -> dict[int, tuple[int, int]]:
    """Step index → epoch and batch index, each step once."""
    found: dict[int, tuple[int, int]] = {}
    for steps in service.steps():
        for offset in range(len(steps["data_wait_us"])):
            batch = steps["batch_index"][offset] if "batch_index" in steps else steps["first_batch_index"] + offset
            assert found.setdefault(steps["first_step_index"] + offset, (steps["epoch_index"], batch)) is not None
    assert len(found) == service.count_steps()
    return found


def is_connected(service: Service) -> bool:
    """Within one epoch the next object's start is the last one's start plus its steps."""
    ends: dict[int, int] = {}
    for steps in service.steps():
        epoch = steps["epoch_index"]
        if epoch in ends and ends[epoch] != steps["start_us"]:
            return False
        ends[epoch] = steps["start_us"] + sum(steps["step_us"])
    return True


@pytest.mark.parametrize("settings", [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}])
def test_every_step_arrives_once_with_its_epoch_and_batch(service: Service, settings: dict[str, Any]) -> None:
    record(service, DataLoader(Numbers(), batch_size=4, **settings), epochs=3)
    expected = {epoch * 6 + batch: (epoch, batch) for epoch in range(3) for batch in range(6)}
    assert all_steps(service) == expected
    assert is_connected(service)
    epochs = service.epochs()
    assert [epochs["train", epoch]["ended"] for epoch in range(3)] == ["exhausted"] * 3
    assert [epochs["train", epoch]["steps"] for epoch in range(3)] == [6] * 3
    assert [epochs["train", epoch]["first_step_index"] for epoch in range(3)] == [0, 6, 12]


def test_a_step_is_its_wait_and_the_work_after_it(service: Service) -> None:
    loader = underfed.watch(DataLoader(Busy(20, sleep_s=0.004), batch_size=2), name="train")
    began_ns = time.monotonic_ns()
    draw(loader, work_s=0.010)
    spent_us = (time.monotonic_ns() - began_ns) / 1_000
    finish(service)
    waits, steps = column(service.steps(), "data_wait_us"), column(service.steps(), "step_us")
    assert sorted(waits)[5] >= 8 * MS
    works = [step - wait for step, wait in zip(steps, waits, strict=True)]
    assert min(works) >= 10 * MS
    assert sum(steps) <= spent_us
    assert "queue_depth" not in service.steps()[0]


@pytest.mark.soak(passes=2, of=3)
def test_a_starved_loop_finds_an_empty_queue_and_a_slow_one_a_full_one(service: Service) -> None:
    starved = underfed.watch(DataLoader(Busy(16, sleep_s=0.02), num_workers=1, prefetch_factor=2), name="starved")
    slow = underfed.watch(DataLoader(Busy(12), num_workers=1, prefetch_factor=3), name="slow")
    draw(starved)
    draw(slow, work_s=0.03)
    finish(service)
    assert sorted(column(service.steps("starved"), "queue_depth"))[8] == 0
    depths = column(service.steps("slow"), "queue_depth")
    assert depths[3:8] == [3] * 5
    assert max(depths) == 3


def test_start_up_is_not_a_step(service: Service) -> None:
    loader = underfed.watch(DataLoader(Busy(4, sleep_s=0.05), num_workers=1), name="train")
    iterator = iter(loader)
    time.sleep(0.2)
    assert len(list(iterator)) == 4
    finish(service)
    epoch = service.epochs()["train", 0]
    assert 0 < epoch["iterator_us"] < epoch["startup_us"]
    assert epoch["startup_us"] >= 200 * MS
    assert column(service.steps(), "data_wait_us")[0] <= epoch["startup_us"] - 200 * MS


def test_a_kept_iterator_is_not_constructed_again(service: Service) -> None:
    record(service, DataLoader(Numbers(8), num_workers=1, persistent_workers=True), epochs=2)
    first, second = (service.epochs()["train", epoch] for epoch in (0, 1))
    assert first["iterator_us"] > 0
    assert "iterator_us" not in second
    assert second["startup_us"] > 0


def test_a_loop_left_early_has_an_open_last_step(service: Service) -> None:
    loader = underfed.watch(DataLoader(Numbers(), batch_size=4, num_workers=1), name="train")
    for _ in range(2):
        for number, _ in enumerate(loader):
            if number == 2:
                break
    finish(service)
    assert [step is None for step in column(service.steps(), "step_us")] == [False, False, True] * 2
    assert {key: (epoch["ended"], epoch["steps"]) for key, epoch in service.epochs().items()} == {
        ("train", 0): ("broken_off", 3),
        ("train", 1): ("broken_off", 3),
    }


def test_iter_without_next_is_an_epoch_without_steps(service: Service) -> None:
    loader = underfed.watch(DataLoader(Numbers(), batch_size=4, num_workers=1, persistent_workers=True), name="train")
    for _ in range(3):
        iter(loader)
    draw(loader)
    finish(service)
    epochs = service.epochs()
    assert [epochs["train", index]["steps"] for index in range(4)] == [0, 0, 0, 6]
    assert {epoch for epoch, _ in all_steps(service).values()} == {3}
    received = {index for part in service.batches() if part["epoch_index"] == 3 for index in part["batch_index"]}
    assert received == set(range(6))


def test_an_error_of_the_data_set_ends_the_epoch_as_one(service: Service) -> None:
    loader = underfed.watch(DataLoader(Failing(), batch_size=4), name="train")
    with pytest.raises(ValueError, match="broken"):
        draw(loader)
    finish(service)
    assert (service.epochs()["train", 0]["ended"], service.count_steps()) == ("error", 2)


def parts_add_up(batches: Sequence[Window]) -> bool:
    names = ("cpu_us", "runqueue_us", "blocked_us")
    sums = [sum(parts) for parts in zip(*(column(batches, name) for name in names), strict=True)]
    return sums == column(batches, "load_us")


@pytest.mark.parametrize("num_workers", [0, 2])
def test_cpu_work_is_distinguished_from_waiting(service: Service, num_workers: int) -> None:
    busy = DataLoader(Busy(6, cpu_s=0.012), num_workers=num_workers)
    asleep = DataLoader(Busy(6, sleep_s=0.012), num_workers=num_workers)
    draw(underfed.watch(busy, name="busy"))
    draw(underfed.watch(asleep, name="asleep"))
    finish(service)
    by_loader = {name: [part for part in service.batches() if part["loader"] == name] for name in ("busy", "asleep")}
    assert parts_add_up(by_loader["busy"])
    assert parts_add_up(by_loader["asleep"])
    assert min(column(by_loader["busy"], "cpu_us")) >= 11 * MS
    assert sorted(column(by_loader["busy"], "blocked_us"))[2] < 6 * MS
    # On a busy machine a sleeper also waits for a core when it wakes.
    assert sorted(column(by_loader["asleep"], "blocked_us"))[3] >= 9 * MS
    assert sorted(column(by_loader["asleep"], "cpu_us"))[2] < 6 * MS


@pytest.mark.parametrize("num_workers", [0, 1])
def test_the_collate_function_is_timed_and_samples_counted(service: Service, num_workers: int) -> None:
    record(service, DataLoader(Numbers(15), batch_size=4, collate_fn=slow_collate, num_workers=num_workers))
    collates, loads = column(service.batches(), "collate_us"), column(service.batches(), "load_us")
    assert min(collates) >= 4 * MS
    assert all(collate <= load for collate, load in zip(collates, loads, strict=True))
    assert column(service.batches(), "samples") == [4, 4, 4, 3]


@pytest.mark.parametrize("num_workers", [0, 1])
def test_bytes_asked_for_are_those_of_the_data_set(service: Service, tmp_path: Path, num_workers: int) -> None:
    file = tmp_path / "sample"
    file.write_bytes(b"x" * 100_000)
    record(service, DataLoader(Busy(4, sleep_s=0.003, file=file), batch_size=2, num_workers=num_workers))
    asked = column(service.batches(), "asked_bytes")
    # A worker also reads what the trainer says while it takes a batch over.
    assert all(200_000 <= amount <= 202_000 for amount in asked[1:])
    # The file was written a moment ago, so the page cache answered; a page of Python's own files may still be read.
    assert sum(column(service.batches(), "read_bytes")[1:]) <= 20_000


def test_batches_name_their_worker_and_when_they_were_received(service: Service) -> None:
    record(service, DataLoader(Numbers(), batch_size=4, num_workers=2), epochs=2)
    batches = service.batches()
    assert sorted(zip(column(batches, "batch_index"), column(batches, "worker"), strict=True)) == sorted(
        [(index, index % 2) for index in range(6)] * 2
    )
    ends = [start + load for part in batches for start, load in zip(part["start_us"], part["load_us"], strict=True)]
    assert all(end <= received for end, received in zip(ends, column(batches, "received_us"), strict=True))


class Unlucky:
    """Draws indices, after another loader could not be begun."""

    def __init__(self, batches: Sequence[list[int]]) -> None:
        self.batches = batches

    def __iter__(self) -> Iterator[list[int]]:
        if not self.batches:
            raise ValueError("there is nothing to draw")
        with suppress(ValueError):
            iter(DataLoader(Numbers(), batch_sampler=Unlucky([])))
        return iter(self.batches)


def test_a_loader_that_could_not_be_begun_within_another_takes_nothing_from_it(service: Service) -> None:
    record(service, DataLoader(Numbers(), batch_sampler=Unlucky([[0, 1], [2, 3], [4, 5], [6, 7]]), num_workers=2))
    assert sorted(column(service.batches(), "worker")) == [0, 0, 1, 1]


def test_without_workers_a_batch_is_received_when_it_is_loaded(service: Service) -> None:
    record(service, DataLoader(Busy(4, sleep_s=0.003)))
    batches = service.batches()
    assert not any("worker" in each for each in batches)
    starts, loads = column(batches, "start_us"), column(batches, "load_us")
    assert column(batches, "received_us") == [start + load for start, load in zip(starts, loads, strict=True)]
    assert loads == column(service.steps(), "data_wait_us")


class Clock:
    """On which only a batch takes time, 1 ms, and each reading, 2 µs: to measure a batch costs the same everywhere."""

    def __init__(self) -> None:
        self.now_ns = time.perf_counter_ns()

    def __call__(self) -> int:
        self.now_ns += 2_000
        return self.now_ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """What the training thread reads."""
    clock = Clock()
    monkeypatch.setattr(install, "Requests", partial(Requests, now=clock))
    monkeypatch.setattr(session, "now_ns", clock)
    return clock


class OnClock(Numbers):
    def __init__(self, length: int, clock: Clock) -> None:
        super().__init__(length)
        self.clock = clock

    def __getitem__(self, index: int) -> Tensor:
        self.clock.now_ns += 1_000_000
        return super().__getitem__(index)


def test_early_batches_are_all_measured_and_later_ones_as_measuring_them_may_cost(
    service: Service, clock: Clock
) -> None:
    record(service, DataLoader(OnClock(200, clock)))
    measured = column(service.batches(), "batch_index")
    assert measured[:32] == list(range(32))
    gaps = [after - before for before, after in pairwise(measured[32:])]
    assert gaps
    # A batch takes 1 ms, and 500 times what it costs to measure one a few of them.
    assert min(gaps) >= 2 and max(gaps) <= 10
    assert service.windows[-1]["losses"]["agent_errors"] == 0


def test_slow_batches_are_measured_in_a_row(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "EARLY_STEPS", 4)
    # What measuring costs differs between machines: here it may take 100 ms, and is far below that on each.
    monkeypatch.setattr(session, "MEASURING_SHARE", 1)
    record(service, DataLoader(Busy(14, sleep_s=0.1)))
    assert column(service.batches(), "batch_index") == list(range(14))


def test_without_workers_the_agents_own_time_is_reported_for_all_steps(service: Service) -> None:
    record(service, DataLoader(Busy(200, sleep_s=0.001)))
    overheads_us = [window["overhead_us"] for window in service.windows if window.get("steps")]
    assert overheads_us
    assert all(own_us > 0 for own_us in overheads_us)


def test_a_batch_that_failed_is_not_counted_among_those_that_wait(service: Service) -> None:
    def draw_each_when_it_is_ready(iterator: Any) -> None:
        for _ in range(len(iterator)):
            wait_until(lambda: iterator._data_queue.qsize() == 1, "the next batch is there")
            with suppress(ValueError):
                next(iterator)

    loader = DataLoader(Failing(8, bad=3), num_workers=1, prefetch_factor=1)
    draw_each_when_it_is_ready(iter(underfed.watch(loader, name="train")))
    finish(service)
    assert column(service.steps(), "queue_depth") == [1] * 7


@pytest.mark.parametrize("settings", [{"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}, {}])
def test_iterable_data_sets_are_recorded(service: Service, settings: dict[str, Any]) -> None:
    loader = DataLoader(Stream(24), batch_size=4, **settings)
    record(service, loader, epochs=2)
    batches = len(list(loader))
    assert [epoch["steps"] for epoch in service.epochs().values()] == [batches] * 2
    received = column([part for part in service.batches() if "received_us" in part], "batch_index")
    if settings:
        assert len(received) == 2 * batches
    facts = service.loaders()["train"]
    assert (facts["dataset_kind"], "dataset_length" in facts) == ("iterable", False)
    assert "not asked for its length" in facts["not_measured"]["batches_per_epoch"]


def test_out_of_order_batches_keep_their_numbers(service: Service) -> None:
    loader = DataLoader(Numbers(24, sleep_s=0.001), batch_size=2, num_workers=2, in_order=False)
    record(service, loader)
    assert sorted(batch for _, batch in all_steps(service).values()) == list(range(12))
    assert all("received_us" in part for part in service.batches())


def test_validation_within_an_epoch_is_a_pause(service: Service) -> None:
    train = underfed.watch(DataLoader(Numbers(6)), name="train")
    val = underfed.watch(DataLoader(Busy(5, sleep_s=0.02)), name="val")
    for number, _ in enumerate(train):
        if number == 3:
            draw(val)
    finish(service)
    steps = column(service.steps("train"), "step_us")
    assert [index for index, step_us in enumerate(steps) if step_us is None] == [3]
    assert len(steps) == 6
    assert service.count_steps("val") == 5


def test_a_loader_made_anew_each_epoch_stays_one_loader(service: Service) -> None:
    for _ in range(3):
        loader = underfed.watch(DataLoader(Numbers(4)), name="train")
        draw(loader)
        del loader
    finish(service)
    assert sorted(service.epochs()) == [("train", 0), ("train", 1), ("train", 2)]


def test_names_are_given_numbered_and_kept(service: Service) -> None:
    kept = [DataLoader(Numbers(1)) for _ in range(4)]
    underfed.watch(kept[0])
    underfed.watch(kept[1], name="train")
    underfed.watch(kept[2], name="train")
    underfed.watch(kept[3])
    underfed.watch(kept[1], name="again")
    for loader in kept:
        draw(loader)
    finish(service)
    assert set(service.loaders()) == {"loader-1", "train", "train-2", "loader-2"}


def test_the_facts_of_run_host_and_loader_arrive(service: Service, run_id: str) -> None:
    run = underfed.init(project="vision", name="resnet", tags={"team": "a"}, config={"lr": 0.1})
    assert run == underfed.Run(run_id, f"{service.url}/runs/{run_id}")
    record(service, DataLoader(Numbers(), batch_size=4, drop_last=True))
    facts = service.windows[0]["run"]
    assert (facts["project"], facts["name"], facts["job"]) == ("vision", "resnet", "vision/resnet")
    assert (facts["tags"], facts["config"], facts["started_by"]) == ({"team": "a"}, {"lr": 0.1}, "watch")
    assert facts["host"]["usable_cores"] > 0
    assert facts["host"]["memory_total_bytes"] > 0
    loader = service.loaders()["train"]
    assert loader["settings"]["batch_size"] == 4
    assert loader["watched_at"].startswith("test_recordings.py:")
    assert (loader["dataset_type"], loader["dataset_length"], loader["batches_per_epoch"]) == ("Numbers", 24, 6)


def test_a_first_batch_shows_tensors_and_bytes(service: Service) -> None:
    record(service, DataLoader(Numbers(), batch_size=4))
    facts = service.loaders()["train"]
    assert (facts["batch_tensors"], facts["batch_bytes"]) == (1, 4 * 3 * 4)


def test_a_length_that_raises_is_not_measured_with_the_reason(service: Service) -> None:
    sampler = torch.utils.data.SequentialSampler(range(3))
    record(service, DataLoader(NoLength(), sampler=sampler))
    facts = service.loaders()["train"]
    assert facts["batches_per_epoch"] == 3
    assert "dataset_length" not in facts
    assert facts["not_measured"]["dataset_length"].startswith("TypeError")


def test_the_service_may_ask_for_everything_again(service: Service) -> None:
    loader = underfed.watch(DataLoader(Busy(2000, sleep_s=0.001)), name="train")
    iterator = iter(loader)
    next(iterator)
    wait_until(lambda: service.windows, "the first window arrives")
    service.wants_run = True

    def were_sent_again() -> bool:
        next(iterator, None)
        return any("run" in window and window["loaders"] for window in service.windows[1:])

    wait_until(were_sent_again, "run and loaders are sent again")


def test_a_silent_run_still_shows_that_it_lives(service: Service) -> None:
    underfed.watch(DataLoader(Numbers(4)))
    wait_until(lambda: any("process" in window for window in service.windows[1:]), "a heartbeat arrives")
    heartbeat = next(window for window in service.windows[1:] if "process" in window)
    assert not heartbeat["steps"]
    assert heartbeat["process"]["at_us"]
    assert heartbeat["process"]["main_cpu_us"] == sorted(heartbeat["process"]["main_cpu_us"])
    assert all(busy is None or busy >= 0 for busy in heartbeat["host"]["busy_cores"])


@pytest.mark.soak(passes=2, of=3)
def test_a_heartbeat_comes_every_five_seconds(service: Service) -> None:
    underfed.watch(DataLoader(Numbers(4)))
    wait_until(lambda: len(service.windows) >= 2, "a heartbeat arrives")
    heartbeat = service.windows[1]
    assert heartbeat["end_us"] - heartbeat["start_us"] < 6_500 * MS
    assert len(heartbeat["process"]["at_us"]) >= 4


def own_costs_us(service: Service) -> list[float]:
    record(service, DataLoader(Busy(200)))
    return [window["overhead_us"] for window in service.windows if window.get("overhead_us") is not None]


def test_our_own_cost_is_reported(service: Service) -> None:
    assert min(own_costs_us(service)) > 0


@pytest.mark.soak(passes=2, of=3)
def test_our_own_cost_is_small(service: Service) -> None:
    assert max(own_costs_us(service)) < 1000
