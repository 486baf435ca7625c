"""Programs that train, started by ``underfed run``: each is recorded, and does what it does without.

How a loader is found when torch is imported, by a program and by its children, is asked of a Python that does
import it; what is said and recorded then, of ready ones.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.forkserver import python, start
from tests.fakes.jobs import Done, end, environment
from tests.fakes.launching import others, own_lines, run_ready, run_under
from tests.fakes.service import Service, wait_until

PLAIN = ("-m", "tests.fakes.plain")
TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node", "2", *PLAIN)
STEPS = 10
"""An epoch."""


def bare(*options: str) -> Done:
    """The program without the agent."""
    return end(start("tests.fakes.plain", options, environment(UNDERFED_DISABLED="1")))


def recorded(
    service: Service,
    *words: str,
    ends: int = 1,
    run: Callable[..., subprocess.CompletedProcess[bytes]] = run_ready,
    **variables: str,
) -> subprocess.CompletedProcess[bytes]:
    """``words`` as for ``underfed run``; everything that was recorded has arrived."""
    done = run(*words, **variables)
    assert done.returncode == 0, done.stderr
    wait_until(lambda: len(service.ends()) == ends, f"{ends} ends arrive")
    return done


def facts(service: Service) -> list[dict[str, Any]]:
    """The facts that each stream sent last about its run."""
    newest = {
        (window["run_id"], window["rank"], window["incarnation"]): window["run"]
        for window in service.windows
        if "run" in window
    }
    return list(newest.values())


@pytest.fixture
def own_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs find their ids themselves."""
    monkeypatch.delenv("UNDERFED_RUN_ID")


@pytest.mark.parametrize(
    "options",
    [
        ["--workers", "2", "--epochs", "2"],
        # Ways that workers start are tried without a launcher by tests of loaders.
        pytest.param(["--workers", "1", "--context", "spawn"], marks=pytest.mark.soak),
        pytest.param(["--workers", "1", "--context", "forkserver"], marks=pytest.mark.soak),
    ],
)
def test_a_program_is_recorded_and_does_what_it_does_without(
    service: Service, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Python's own tracker of semaphores may learn of one only after it was removed, with the agent or without.
    monkeypatch.setenv("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    without = bare(*options)
    done = recorded(service, "--", sys.executable, *PLAIN, *options, run=run_under)
    assert (done.stdout.decode(), others(done.stderr).decode()) == (without.stdout, without.stderr)
    assert service.count_steps() == (2 * STEPS if "--epochs" in options else STEPS)
    (run,) = facts(service)
    assert (run["name"], run["started_by"], run["overrides"]) == ("plain", "run", {})
    assert len(own_lines(done.stderr)) == 1, "where its page is"


def test_a_script_of_two_programs_is_two_runs(service: Service, own_ids: None, tmp_path: Path) -> None:
    script = tmp_path / "both.sh"
    program = " ".join([python(), *PLAIN])
    script.write_text(f"#!/bin/sh\nset -e\n{program}\ncd /\n{program} --workers 1\n")
    script.chmod(0o755)
    done = recorded(service, "--", str(script), ends=2)
    assert len(done.stdout.splitlines()) == 2
    assert len({window["run_id"] for window in service.windows}) == 2
    assert service.count_steps() == 2 * STEPS


@pytest.mark.soak
def test_ranks_of_torchrun_are_one_run(service: Service, own_ids: None) -> None:
    # They know each other by their parent, and so each is a Python that imports torch.
    words = ["--set", "num_workers=1", "--", python(), *TORCHRUN]
    done = recorded(service, *words, ends=2, PYTHON_EXEC=sys.executable)
    assert len(done.stdout.splitlines()) == 2
    assert {(window["rank"], window["run_id"]) for window in service.windows} == {
        (rank, service.windows[0]["run_id"]) for rank in (0, 1)
    }
    assert [sum(len(steps["step_us"]) for steps in service.steps(rank=rank)) for rank in (0, 1)] == [STEPS, STEPS]
    assert [run["overrides"] for run in facts(service)] == [{"num_workers": 1}] * 2
    assert len([line for line in own_lines(done.stderr) if "num_workers" in line]) == 1, "one rank speaks for all"


@pytest.mark.soak
def test_processes_of_multiprocessing_that_train_are_recorded(service: Service, own_ids: None) -> None:
    """That they are found is also shown by ``tuning/test_children.py``."""
    words = ["--", sys.executable, *PLAIN, "--processes", "2", "--context", "spawn"]
    done = recorded(service, *words, ends=2, run=run_under)
    assert sorted(line.split(b":")[0] for line in done.stdout.splitlines()) == [b"rank 0", b"rank 1"]
    assert service.count_steps() == 2 * STEPS


# Settings from outside


def test_settings_are_those_of_the_run_and_its_batches_the_same(service: Service) -> None:
    words = ["num_workers=2", "prefetch_factor=3", "persistent_workers=true", "threads_per_worker=2"]
    done = recorded(service, *(part for word in words for part in ("--set", word)), "--", python(), *PLAIN)
    assert b"threads [2], by workers {True}" in done.stdout
    assert re.findall(r"steps, (\d+)", done.stdout.decode()) == re.findall(r"steps, (\d+)", bare().stdout)
    (run,) = facts(service)
    expected = {"num_workers": 2, "prefetch_factor": 3, "persistent_workers": True, "threads_per_worker": 2}
    assert run["overrides"] == expected
    (loader,) = service.loaders().values()
    assert expected.items() <= loader["settings"].items()


def test_a_loader_that_was_watched_before_it_was_changed_is_reported_as_it_trains(
    service: Service, tmp_path: Path
) -> None:
    (tmp_path / "watched.py").write_text(
        "import underfed\n"
        "from torch.utils.data import DataLoader\n"
        "loader = underfed.watch(DataLoader(range(8), shuffle=True), name='train')\n"
        "for _ in range(2):\n"
        "    list(loader)\n"
    )
    recorded(service, "--set", "num_workers=2", "--", python(), str(tmp_path / "watched.py"))
    loader = service.loaders()["train"]
    assert (loader["settings"]["num_workers"], loader["settings"]["prefetch_factor"]) == (2, 2)
    assert "queue_depth" not in loader["not_measured"]


def test_what_is_refused_is_said_and_recorded_and_nothing_changes(service: Service) -> None:
    done = recorded(
        service, "--set", "num_workers=2", "--set", "pin_memory=false", "--", python(), *PLAIN, "--iterable"
    )
    assert done.stdout.decode() == bare("--iterable").stdout
    (run,) = facts(service)
    assert run["overrides"] == {"pin_memory": False}
    assert "does not ask get_worker_info()" in run["not_measured"]["set:num_workers"]
    assert any(line.startswith("underfed: --set num_workers=2 is refused: Endless") for line in own_lines(done.stderr))


# Replay


def test_a_replay_ends_every_rank_after_as_many_steps(service: Service, own_ids: None) -> None:
    done = recorded(service, "--replay", "7", "--", python(), *TORCHRUN, "--epochs", "3", ends=2)
    assert done.stdout == b""
    assert [sum(len(steps["data_wait_us"]) for steps in service.steps(rank=rank)) for rank in (0, 1)] == [7, 7]
    assert len([line for line in own_lines(done.stderr) if "replay of 7 batches: " in line]) == 1
    assert all(end["status"] == "finished" for end in service.ends())
    for run in facts(service):
        assert run["replay"]["batches"] == 7
        assert run["replay"]["instant_steps_per_s"] > 0 and run["replay"]["real_steps_per_s"] > 0


def test_a_replay_of_more_than_there_is_says_so(service: Service) -> None:
    done = recorded(service, "--replay", "100", "--", python(), *PLAIN)
    assert done.stdout.startswith(b"rank 0: 10 steps")
    assert any("the program ended after 10 of the 200 steps it takes" in line for line in own_lines(done.stderr))
    assert all("replay" not in run for run in facts(service))
