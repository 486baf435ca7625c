"""Processes that train and are not tuned: the terminal says so, and why, whoever started them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.fakes.launching import run_under
from underfed.exchange import launch
from underfed.trainer.tuning.tuner import DAEMONIC, FORKED, read_tuner

SCRIPT = """
import multiprocessing
import sys

from torch.utils.data import DataLoader


def train():
    print(len(list(DataLoader(list(range(40))))), flush=True)


if __name__ == "__main__":
    method, daemon = sys.argv[1:]
    child = multiprocessing.get_context(method).Process(target=train, daemon=daemon == "daemon")
    child.start()
    child.join()
"""


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("method", "kind", "why"),
    [
        ("fork", "daemon", f"leaves this loader alone: {DAEMONIC}"),
        pytest.param("spawn", "daemon", f"leaves this loader alone: {DAEMONIC}", marks=pytest.mark.soak),
        ("fork", "free", f"leaves this loader alone: {FORKED}"),
        ("spawn", "free", "leaves the loader as it is: "),
        pytest.param("forkserver", "free", "leaves the loader as it is: ", marks=pytest.mark.soak),
    ],
)
@pytest.mark.usefixtures("service")
def test_a_child_that_trains_is_told_of(method: str, kind: str, why: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    done = run_under("--tune", "--", sys.executable, str(script), method, kind)
    assert (done.returncode, done.stdout) == (0, b"40\n")
    said = [line for line in done.stderr.decode().splitlines() if "--tune" in line]
    assert len(said) == 1
    assert why in said[0]


@pytest.mark.parametrize(("local_rank", "said"), [("0", ["why"]), ("1", [])])
def test_the_first_rank_of_each_host_tells(local_rank: str, said: list[str]) -> None:
    """The terminal of rank 0 is on another one."""
    heard: list[str] = []
    variables = {
        launch.TUNE: "1",
        "RANK": "3",
        "WORLD_SIZE": "4",
        "LOCAL_RANK": local_rank,
        "LOCAL_WORLD_SIZE": "2",
        "GROUP_RANK": "1",
        "TORCHELASTIC_RUN_ID": "job",
    }
    tuner = read_tuner(variables, heard.append)
    assert tuner is not None
    tuner.telling.left_alone("why", None)
    assert [line.rsplit(" ", 1)[1] for line in heard] == said
