"""Processes that train and are not tuned: the terminal says so, and why, whoever started them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.forkserver import python
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
    for how in sys.argv[1:]:
        method, kind = how.split()
        child = multiprocessing.get_context(method).Process(target=train, daemon=kind == "daemon")
        child.start()
        child.join()
"""


LEFT_ALONE, LEFT_AS_IT_IS = "leaves this loader alone: ", "leaves the loader as it is: "
USUAL = {"fork daemon": LEFT_ALONE + DAEMONIC, "fork free": LEFT_ALONE + FORKED, "spawn free": LEFT_AS_IT_IS}
OTHERS = {"spawn daemon": LEFT_ALONE + DAEMONIC, "forkserver free": LEFT_AS_IT_IS}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("children", [USUAL, pytest.param(OTHERS, marks=pytest.mark.soak)])
@pytest.mark.usefixtures("service")
def test_each_child_that_trains_is_reported(children: dict[str, str], tmp_path: Path) -> None:
    """By what it is: one process starts them all, one after the other."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    done = run_under("--tune", "--", python(), str(script), *children)
    assert (done.returncode, done.stdout) == (0, b"40\n" * len(children))
    said = [line for line in done.stderr.decode().splitlines() if "--tune" in line]
    assert [why in line for line, why in zip(said, children.values(), strict=True)] == [True] * len(children)


@pytest.mark.parametrize(("local_rank", "said"), [("0", ["why"]), ("1", [])])
def test_the_first_rank_of_each_host_reports(local_rank: str, said: list[str]) -> None:
    """The terminal of rank 0 is on another one."""
    printed: list[str] = []
    variables = {
        launch.TUNE: "1",
        "RANK": "3",
        "WORLD_SIZE": "4",
        "LOCAL_RANK": local_rank,
        "LOCAL_WORLD_SIZE": "2",
        "GROUP_RANK": "1",
        "TORCHELASTIC_RUN_ID": "job",
    }
    tuner = read_tuner(variables, printed.append)
    assert tuner is not None
    tuner.reporter.left_alone("why", None)
    assert [line.rsplit(" ", 1)[1] for line in printed] == said
