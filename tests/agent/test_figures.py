"""What ``underfed.stats()`` returns: sums over steps as the collector reads them, and the file between both."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import underfed
from tests.fakes.service import Service, wait_until
from tests.recorded_runs import names, windows_of
from underfed.collector.reading.figures import NEEDED, RECENT_US, WARM_UP, RankFigures
from underfed.collector.wire import Epoch, Steps
from underfed.exchange import figures
from underfed.exchange.parts import read_small, write_part
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.store.columns.stall import has_device_clock, stall_us


def made_steps(step_us: list[int | None], data_wait_us: list[int], loader: str = "train", **columns: Any) -> Steps:
    all_columns = {"queue_depth": None, "batch_index": None, **columns}
    return Steps(loader, 0, 0, 0, 0, step_us, data_wait_us, **all_columns)


def figures_of(*steps: Steps, epochs: list[Epoch] | None = None) -> dict[str, Any]:
    rank = RankFigures()
    rank.feed(0, steps, epochs or [])
    return dict(rank.take() or {})


def made_epoch(loader: str, *, graph_built: bool) -> Epoch:
    return Epoch(loader, 0, 0, None, None, 0, None, None, None, graph_built=graph_built)


def test_figures_are_of_the_steps_after_the_first_five() -> None:
    cold: list[int | None] = [900_000] * WARM_UP
    found = figures_of(made_steps(cold + [100_000] * 20, [900_000] * WARM_UP + [25_000] * 20))
    assert (found["loader"], found["clock"], found["steps"]) == ("train", "host", 20)
    assert (found["data_stall_fraction"], found["data_wait_us"], found["steps_per_s"]) == (0.25, 25_000, 10.0)
    assert found["data_wait_p95_us"] == pytest.approx(25_000, rel=0.05)
    assert found["queue_empty_fraction"] is None, "without workers there is no queue"


def test_a_step_whose_length_is_not_known_is_not_counted() -> None:
    steps: list[int | None] = [None] * WARM_UP
    found = figures_of(made_steps([*steps, 10, None, 10], [5] * WARM_UP + [5, 5_000, 5]))
    assert (found["steps"], found["data_stall_fraction"]) == (2, 0.5)


def test_too_few_steps_for_a_verdict_are_counted_as_the_service_counts_them() -> None:
    assert THRESHOLDS.warmup_steps + THRESHOLDS.needed_steps == NEEDED
    for count, reason in ((NEEDED - 1, f"not judged: {NEEDED - 1} of {NEEDED} steps"), (NEEDED, None)):
        assert figures_of(made_steps([10] * count, [5] * count))["not_judged"] == reason


def test_without_a_step_there_is_no_figure() -> None:
    rank = RankFigures()
    assert rank.take() is None
    rank.feed(0, [made_steps([10] * WARM_UP, [5] * WARM_UP)], [])
    found = rank.take()
    assert found is not None
    assert {name: found[name] for name in figures.OF_STEPS} == {**dict.fromkeys(figures.OF_STEPS), "steps": 0}


@pytest.mark.parametrize("scale", [1, 40, 1_000_000])
def test_percentiles_are_within_five_per_cent(scale: int) -> None:
    waits = [round(scale * random.Random(number).expovariate(1)) for number in range(WARM_UP + 2_000)]
    found = figures_of(made_steps([10 * scale + 1] * len(waits), waits))
    assert found["data_wait_p95_us"] == pytest.approx(float(np.quantile(waits[WARM_UP:], 0.95)), rel=0.06, abs=1)


def test_the_loader_that_trains_is_named_and_else_the_one_most_time_was_spent_with() -> None:
    train, validation = made_steps([10] * 30, [1] * 30), made_steps([100] * 30, [90] * 30, "validation")
    assert figures_of(train, validation)["loader"] == "validation"
    epochs = [made_epoch("train", graph_built=True), made_epoch("validation", graph_built=False)]
    assert figures_of(train, validation, epochs=epochs)["loader"] == "train"


def test_recent_figures_are_of_the_newest_minute() -> None:
    rank = RankFigures()
    rank.feed(0, [made_steps([10] * 25, [0] * 25)], [])
    rank.feed(RECENT_US + 1, [made_steps([10] * 20, [5] * 20)], [])
    found = rank.take()
    assert found is not None
    assert (found["steps"], found["data_stall_fraction"]) == (40, 0.25)
    assert (found["recent"]["steps"], found["recent"]["data_stall_fraction"]) == (20, 0.5)
    rank.feed(3 * RECENT_US, [], [])
    assert (rank.take() or {})["recent"]["steps"] == 0


def test_an_empty_queue_is_counted_per_request() -> None:
    found = figures_of(made_steps([10] * 25, [1] * 25, queue_depth=[9] * WARM_UP + [0] * 5 + [1] * 15))
    assert found["queue_empty_fraction"] == 0.25


@pytest.mark.parametrize("seed", range(12))
def test_on_the_devices_clock_a_step_lost_what_the_service_says_it_lost(seed: int) -> None:
    draw = random.Random(seed)
    count = 400
    depths = [draw.choice((0, 0, 1, 3)) for _ in range(count)]
    waits = [draw.randrange(1, 5_000) for _ in range(count)]
    timed = [draw.random() < (draw.choice((0.7, 0.95)) if not depth else 1 / 16) for depth in depths]
    idle = [draw.randrange(wait + 1) if is_timed else None for wait, is_timed in zip(waits, timed, strict=True)]
    steps: list[int | None] = [10_000] * count
    found = figures_of(made_steps(steps, waits, queue_depth=depths, gpu_idle_us=idle))
    columns = [np.array(each, dtype=float)[WARM_UP:] for each in (waits, idle, depths)]
    assert found["clock"] == ("gpu" if has_device_clock(columns[1], columns[2]) else "host")
    assert found["data_stall_fraction"] == pytest.approx(stall_us(*columns).mean() / 10_000, abs=1e-4)


@pytest.mark.parametrize("name", names())
def test_figures_of_real_trainings_are_what_their_windows_say(name: str) -> None:
    """The windows of one rank, fed as the collector feeds them, against plain sums over all of its steps."""
    windows = [each for each in windows_of(name) if each["rank"] == 0]
    rank = RankFigures()
    rows: dict[str, list[tuple[int | None, int]]] = {}
    for window in windows:
        steps = [Steps(**each) for each in with_all_columns(window, "steps")]
        epochs = [Epoch(**{**dict.fromkeys(Epoch.__slots__), **each}) for each in window.get("epochs", [])]
        rank.feed(window["end_us"], steps, epochs)
        for each in steps:
            rows.setdefault(each.loader, []).extend(zip(each.step_us, each.data_wait_us, strict=True))
    found = rank.take()
    if found is None:
        assert not rows
        return
    known = [row for row in rows[found["loader"]][WARM_UP:] if row[0] is not None]
    assert found["steps"] == len(known)
    if known:
        lengths, waits = (np.array(column, dtype=float) for column in zip(*known, strict=True))
        assert found["data_stall_fraction"] == pytest.approx(waits.sum() / lengths.sum(), abs=1e-4)
        assert found["steps_per_s"] == pytest.approx(1e6 / lengths.mean(), rel=1e-4)
        p95 = float(np.quantile(waits, 0.95, method="inverted_cdf"))
        assert found["data_wait_p95_us"] == pytest.approx(p95, rel=0.06, abs=1)


def with_all_columns(window: dict[str, Any], part: str) -> list[dict[str, Any]]:
    """Columns that were not measured are absent on the wire."""
    return [{"queue_depth": None, "batch_index": None, **each} for each in window.get(part, [])]


def test_a_reader_sees_the_old_figures_or_the_new(tmp_path: Path) -> None:
    path = str(tmp_path / figures.FILE)
    assert figures.read(path) == figures.nothing()
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set():
            number += 1
            write_part(tmp_path / figures.FILE, {**figures.nothing(), "steps": number, "recent": {"steps": number}})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(2_000):
            found = figures.read(path)
            assert found["steps"] == found["recent"]["steps"]
    finally:
        over.set()
        writer.join()


def test_figures_are_read_again_only_where_they_were_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []

    def counted(path: str) -> Any:
        reads.append(path)
        return read_small(path)

    monkeypatch.setattr(figures, "read_small", counted)
    file = figures.FiguresFile(str(tmp_path / figures.FILE))
    assert file.read() == figures.nothing()
    for steps in (40, 41):
        write_part(tmp_path / figures.FILE, {**figures.nothing(), "steps": steps})
        for _ in range(3):
            found = file.read()
            assert (found["steps"], found["recent"]["steps"]) == (steps, 0)
            found["steps"] = found["recent"]["steps"] = -1  # the caller's own
    assert len(reads) == 2
    (tmp_path / figures.FILE).unlink()
    assert file.read() == figures.nothing()


class Slow(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.004)
        return torch.ones(2)


def test_a_training_loop_reads_its_own_figures(service: Service, run_id: str) -> None:
    assert underfed.stats() == figures.nothing()
    loader = underfed.watch(DataLoader(Slow(), batch_size=2), "train")
    weight = torch.ones(2, requires_grad=True)
    waited_s: list[float] = []
    asked = time.perf_counter()
    service.verdict = {"bound": "data", "cause": "no_workers", "max_data_stall_fraction": 0.5}
    for batch in loader:
        waited_s.append(time.perf_counter() - asked)
        (batch * weight).sum().backward()
        time.sleep(0.004)
        asked = time.perf_counter()
    # The last step ends where the next batch would be asked for.
    wait_until(lambda: underfed.stats()["steps"] >= 100 // 2 - WARM_UP - 1, "the collector has read the steps")
    found = underfed.stats()
    assert found["loader"] == "train"
    assert found["page"] == f"{service.url}/runs/{run_id}"
    wait_until(lambda: underfed.stats()["bound"], "the collector has the service's verdict")
    assert service.verdict.items() <= underfed.stats().items()
    # As long as the samples take, and never longer than the loop itself saw, however the machine is loaded.
    steps, waited_us = found["steps"], found["steps"] * found["data_wait_us"]
    assert 8_000 * steps <= waited_us <= 1e6 * sum(waited_s[WARM_UP:]) + steps
    assert found["data_stall_fraction"] == pytest.approx(waited_us * found["steps_per_s"] / steps / 1e6, abs=1e-3)
    assert found["steps_per_s"] <= 1e6 / 12_000
    underfed.finish()
    assert underfed.stats() == figures.nothing()
