"""How much of a run is known to be left, by its loader and the passes so far."""

from __future__ import annotations

import signal

import psutil
from torch.utils.data import DataLoader

from underfed.host.clock import now_ns
from underfed.trainer.tuning.chosen_loader import ChosenLoader, fork_ns


def after(passes: list[int], length: int | None) -> ChosenLoader:
    """``passes``: requests in each; the last one goes on. ``length``: batches of a whole one."""
    chosen = ChosenLoader()
    for requests in passes:
        chosen.pass_begun(length)
        for _ in range(requests):
            chosen.requested()
    return chosen


def test_as_many_passes_are_left_as_there_were_before_this_one() -> None:
    chosen = after([41, 41, 10], 40)
    assert chosen.left_of_pass() == 30
    assert chosen.left_steps() == 30 + 2 * 40


def test_passes_that_the_program_leaves_early_are_expected_to_be_left_again() -> None:
    chosen = after([50, 50, 10], 10_000)
    assert chosen.left_of_pass() == 40
    assert chosen.left_steps() == 40 + 2 * 50


def test_in_the_first_pass_its_rest_is_all_that_is_known() -> None:
    chosen = after([10], 40)
    assert chosen.left_of_pass() == chosen.left_steps() == 30


def test_without_a_length_nothing_is_known() -> None:
    assert after([10], None).left_steps() is None


def loader(start_method: str) -> DataLoader[int]:
    return DataLoader(range(2), num_workers=1, multiprocessing_context=start_method)  # type: ignore[arg-type]


def test_what_a_fork_takes_is_measured_and_no_process_stays() -> None:
    children = psutil.Process().children()
    began_ns = now_ns()
    took_ns = fork_ns(loader("fork"))
    assert 0 < took_ns <= now_ns() - began_ns
    assert psutil.Process().children() == children


def test_nothing_is_forked_where_workers_are_not_or_where_the_program_handles_sigchld() -> None:
    assert fork_ns(loader("spawn")) == 0
    before = signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        assert fork_ns(loader("fork")) == 0
    finally:
        signal.signal(signal.SIGCHLD, before)
