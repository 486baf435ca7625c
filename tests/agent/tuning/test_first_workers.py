"""What a data set without workers must not be given unasked: a file or connection of both, or the script again."""

from __future__ import annotations

import multiprocessing
import socket
import sqlite3
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import underfed
from tests.agent.tuning.switching_plans import facts_now
from tests.fakes.datasets import Numbers
from underfed.exchange import tuning
from underfed.trainer import control
from underfed.trainer.tuning.chosen_loader import start_ns
from underfed.trainer.tuning.first_workers import MADE_IN_EACH, is_guarded, open_file_of, why_no_first_workers
from underfed.trainer.tuning.tuner import TuneOptions, Tuner


class Holder(Numbers):
    def __init__(self, held: Any) -> None:
        super().__init__(400, sleep_s=0.002)
        self.held = held


class Lazy:
    def __init__(self) -> None:
        self.parts: dict[str, Any] = {}


HELD: dict[str, tuple[Callable[[Path], Any], str]] = {
    "read": (lambda path: path.open("rb"), "file"),
    "text": (lambda path: path.open(), "file"),
    "unbuffered": (lambda path: path.open("rb", buffering=0), "file"),
    "connection": (lambda _: socket.socket(), "connection"),
    "database": (lambda _: sqlite3.connect(":memory:"), "object of sqlite3"),
}


@pytest.mark.parametrize("kind", HELD)
def test_what_forked_workers_would_share_is_found_wherever_a_data_set_holds_it(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "records"
    path.write_bytes(b"1")
    make, name = HELD[kind]
    lazy = Lazy()
    with closing(make(path)) as opened:
        lazy.parts["train"] = [opened]
        assert open_file_of(Holder(lazy)) == name


def test_a_closed_file_is_no_matter_nor_is_what_only_names_files(tmp_path: Path) -> None:
    path = tmp_path / "records"
    path.write_bytes(b"1")
    with path.open("rb") as closed:
        pass
    many = [(str(index), [index]) for index in range(2_000)]
    assert open_file_of(Holder([closed, path, many, torch.zeros(4), sys, open])) is None


def test_an_executor_is_called_by_its_name() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        reason = why_no_first_workers(DataLoader(Holder(pool)))
    assert reason == "its data set holds a ThreadPoolExecutor, which does not run in forked workers" + MADE_IN_EACH


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("train()\n", False),
        ("def main():\n    if __name__ == '__main__':\n        train()\nmain()\n", False),
        ("if __name__ == '__main__':\n    train()\n", True),
        ("import sys\nif sys.argv and '__main__' == __name__:\n    train()\n", True),
        ("not Python\n", False),
    ],
)
def test_a_script_asks_for_its_name_or_runs_again_in_each_worker(tmp_path: Path, script: str, expected: bool) -> None:
    path = tmp_path / "train.py"
    path.write_text(script)
    assert is_guarded(str(path)) is expected


def test_workers_that_are_not_forked_need_a_script_that_asks_for_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "train.py"
    path.write_text("train()\n")
    loader = DataLoader(Numbers())
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(path), raising=False)
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda **_: "spawn")
    assert (
        why_no_first_workers(loader)
        == 'starting a worker runs the script again: it has no `if __name__ == "__main__":`'
        "; it could have workers if the training were put under one"
    )
    monkeypatch.delattr(sys.modules["__main__"], "__file__")
    assert why_no_first_workers(loader) is None, "of a notebook nothing is run"


def test_the_start_method_stays_the_program_s_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def get_start_method(allow_none: bool = False) -> None:
        asked.append(allow_none)

    monkeypatch.setattr(multiprocessing, "get_start_method", get_start_method)
    why_no_first_workers(DataLoader(Numbers()))
    start_ns(DataLoader(Numbers()))
    assert asked == [True, True]


@pytest.mark.usefixtures("quick")
def test_a_data_set_with_an_open_file_is_left_without_workers(tmp_path: Path) -> None:
    path = tmp_path / "records"
    path.write_bytes(b"1")
    with path.open("rb") as opened:
        loader = DataLoader(Holder(opened))
        control._state.tuner = Tuner(TuneOptions(most_steps=60), print)
        underfed.watch(loader, tune=True)
        assert len(list(loader)) == 400
    facts = facts_now()
    assert (facts.status, facts.reason) == (
        tuning.LEFT_ALONE,
        "its data set holds an open file, which forked workers would share" + MADE_IN_EACH,
    )
    assert facts.why_no_workers == facts.reason


@pytest.mark.skipif(not hasattr(DataLoader(Numbers()), "in_order"), reason="this torch hands batches out in order")
def test_a_loader_that_takes_batches_in_any_order_is_given_none() -> None:
    """Without workers it takes them in order."""
    reason = str(why_no_first_workers(DataLoader(Numbers(), in_order=False)))
    assert "in any order" in reason
    assert reason.endswith("; it could have workers without in_order=False")
