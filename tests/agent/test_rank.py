"""Ranks and run ids: as the launcher says, and the same for all ranks of one launcher."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from underfed.rank import Rank, make_run_id, read_rank, slug


def test_a_lone_process_is_rank_0_of_1() -> None:
    assert read_rank({}) == Rank(rank=0, local_rank=0, node_rank=None, world_size=1)


def test_torchruns_variables_are_read() -> None:
    environ = {"RANK": "5", "LOCAL_RANK": "1", "GROUP_RANK": "1", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}
    assert read_rank(environ) == Rank(rank=5, local_rank=1, node_rank=1, world_size=8)


@pytest.mark.parametrize(
    "environ",
    [{"RANK": "first", "WORLD_SIZE": "2"}, {"RANK": "2", "WORLD_SIZE": "2"}, {"RANK": "0"}, {"WORLD_SIZE": "4"}],
)
def test_variables_that_do_not_fit_together_are_someone_elses(environ: dict[str, str]) -> None:
    assert read_rank(environ) == Rank()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train", "train"),
        ("ResNet 50 (try 2)", "ResNet-50-try-2"),
        ("日本", "run"),
        ("a" * 90, "a" * 40),
        ("../x", "x"),
    ],
)
def test_a_slug_keeps_what_an_identifier_may_hold(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_a_run_id_is_readable_and_new_each_time() -> None:
    first, second = make_run_id("train", Rank()), make_run_id("train", Rank())
    assert re.fullmatch(r"train-[0-9a-f]{8}", first)
    assert first != second


def test_all_ranks_of_one_launcher_agree_without_talking() -> None:
    program = "from underfed.rank import *; print(make_run_id('train', Rank(rank=0, world_size=2)))"
    ids = [subprocess.check_output([sys.executable, "-c", program], text=True) for _ in range(2)]
    assert ids[0] == ids[1]


def test_another_launcher_gives_another_run() -> None:
    program = "from underfed.rank import *; print(make_run_id('train', Rank(rank=0, world_size=2)))"
    launcher = f"import subprocess, sys; print(subprocess.check_output([sys.executable, '-c', {program!r}]))"
    ids = [subprocess.check_output([sys.executable, "-c", launcher], text=True) for _ in range(2)]
    assert ids[0] != ids[1]
