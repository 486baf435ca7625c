"""What the collate function takes, as its timer sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from torch.utils.data import default_collate
from torch.utils.data._utils.fetch import _MapDatasetFetcher

from tests.fakes.datasets import Numbers
from underfed.exchange.ring_format import NOT_MEASURED
from underfed.host import procfs
from underfed.trainer.loading import collate, worker
from underfed.trainer.loading.collate import CollateTimer
from underfed.trainer.loading.probe import Probe, process_cpu_ns

MS = 1_000_000


def collated(waited_ns: list[int]) -> CollateTimer:
    waits = iter(waited_ns)
    timer = CollateTimer(SimpleNamespace(waited_ns=lambda: next(waits)))  # type: ignore[arg-type]
    timer.restart()
    collate.end(collate.begin(SimpleNamespace(**{collate.KEY: timer}), [1, 2]), None)
    return timer


def test_waiting_for_a_core_is_no_collating(monkeypatch: pytest.MonkeyPatch) -> None:
    instants = iter([100 * MS, 130 * MS])
    monkeypatch.setattr(collate, "now_ns", lambda: next(instants))
    assert collated([5 * MS, 33 * MS]).elapsed_ns == 2 * MS


def test_where_waiting_is_not_measured_only_computing_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = iter([7 * MS, 9 * MS])
    monkeypatch.setattr("time.thread_time_ns", lambda: next(computed))
    assert collated([NOT_MEASURED] * 2).elapsed_ns == 2 * MS


def test_a_wait_that_ends_between_two_looks_takes_nothing_from_other_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    instants = iter([100 * MS, 101 * MS])
    monkeypatch.setattr(collate, "now_ns", lambda: next(instants))
    assert collated([5 * MS, 9 * MS]).elapsed_ns == 0


def test_reading_the_clock_is_no_collating(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = 0

    def waited_ns() -> int:
        nonlocal passed
        passed += 3 * MS  # that it takes
        return 0

    monkeypatch.setattr(collate, "now_ns", lambda: passed)
    timer = CollateTimer(SimpleNamespace(waited_ns=waited_ns))  # type: ignore[arg-type]
    timer.restart()
    token = collate.begin(SimpleNamespace(**{collate.KEY: timer}), [1, 2])
    passed += 2 * MS
    collate.end(token, None)
    assert timer.elapsed_ns == 2 * MS


def test_what_the_timer_reads_of_proc_is_not_counted_as_the_programs() -> None:
    def asked(looks: int) -> int:
        probe = Probe()
        probe.begin()
        for _ in range(looks):
            probe.waited_ns()
        return probe.end().asked_bytes

    assert asked(looks=20) <= asked(looks=0)


COMPUTING = "import time\nwhile time.process_time() < 0.1: pass"


def test_what_a_program_computed_that_a_worker_ran_is_its_process_and_not_its_thread() -> None:
    """Of the training process it is not counted: workers that have ended are programs of it, too."""
    worker, training = Probe(process_cpu_ns), Probe()
    for probe in (worker, training):
        probe.begin()
    subprocess.run([sys.executable, "-S", "-E", "-c", COMPUTING], check=True)
    of_worker, of_training = worker.end(), training.end()
    assert of_worker.process_cpu_ns >= of_training.process_cpu_ns + 90 * MS
    ran = procfs.usage(os.getpid())
    assert ran is not None and ran.children_cpu_us >= 90_000


def test_a_data_set_that_another_loop_hands_on_as_it_is_held_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch 2.15 holds it in a list, and loops of others than torch call that the data set."""
    monkeypatch.setattr(worker, "splice_fetchers", list)
    dataset = Numbers(4)
    timer = worker._await_fetcher({"dataset": [dataset], "collate_fn": default_collate})
    timer.restart()
    fetcher: Any = _MapDatasetFetcher(dataset, True, default_collate, False)
    token = collate.begin(fetcher, [1, 2])
    timer.stop()
    assert token is not None and token[0] is timer
    assert timer.samples == 2
