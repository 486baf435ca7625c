"""From a command with no line changed to its diagnosis, to a run with what was advised, to what instant data gain."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.app.serving import Service, judged
from tests.fakes.environment import clean_environment
from tests.fakes.service import wait_until
from underfed_server.terminal.client import Client

SCRIPT = """
import sys
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __len__(self):
        return int(sys.argv[1])

    def __getitem__(self, index):
        time.sleep(0.04)
        return torch.full((64,), float(index))

def main():
    torch.set_num_threads(1)
    for batch in DataLoader(Samples(), shuffle=True):
        time.sleep(0.02)
    print("trained")

if __name__ == "__main__":
    main()
"""
"""A script without the agent. Without workers a step takes 60 ms; with instant data it would take 20."""

ENOUGH, LONG = "60", "120"
"""Steps for a verdict, and for a gain that can be distinguished from chance."""
ADVISED = "ast-audioset"
"""A made run; it was advised more workers."""


@dataclass(frozen=True, slots=True)
class Done:
    output: str
    errors: str

    @property
    def run_id(self) -> str:
        found = re.search(r"/runs/([\w-]+)$", self.errors, re.MULTILINE)
        assert found, self.errors
        return found[1]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("zero-code") / "train.py"
    path.write_text(SCRIPT)
    return path


def run(service: Service, data: Path, *words: str) -> Done:
    """``underfed run`` from an own terminal; the command ends with 0."""
    done = subprocess.run(
        [sys.executable, "-m", "underfed.commands.cli", "run", *words],
        env=clean_environment(UNDERFED_URL=service.address, UNDERFED_DIR=str(data)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Done(done.stdout, done.stderr)


def test_a_script_that_knows_nothing_of_us_is_diagnosed_and_advice_for_a_loader_that_it_has_not_got_set_of_no_other(
    gallery: Service, data: Path, script: Path
) -> None:
    client, name = Client(gallery.address), f"zero-code-{uuid.uuid4().hex[:6]}"
    advice = next(each for each in client.diagnosis(ADVISED).advice if each.change == "num_workers")
    options = ("--name", name, "--tag", "try=1", "--apply", ADVISED)
    done = run(gallery, data, *options, "--", sys.executable, str(script), ENOUGH)
    assert done.output == "trained\n"
    found, diagnosis = client.run(done.run_id), judged(client, done.run_id)
    assert (found.name, found.tags, found.started_by, found.steps) == (name, {"try": "1"}, "run", int(ENOUGH))
    assert diagnosis.bound == "data"
    assert "no_workers" in [finding.cause for finding in diagnosis.causes]
    assert f"underfed: run {ADVISED} advises num_workers={advice.settings['num_workers']}" in done.errors
    assert (found.advice_of, found.overrides) == (ADVISED, {})
    assert f"{advice.loader}.num_workers" in done.errors and "so nothing was set" in done.errors
    assert f"set:{advice.loader}.num_workers" in found.not_measured


@pytest.mark.soak(passes=2, of=3)
def test_what_was_advised_comes_true(service: Service, client: Client, data: Path, script: Path) -> None:
    name = f"twice-{uuid.uuid4().hex[:6]}"
    before = run(service, data, "--name", name, "--", sys.executable, str(script), LONG)
    starved = judged(client, before.run_id)
    assert [finding.cause for finding in starved.causes][:1] == ["no_workers"]
    assert starved.advice[0].change == "num_workers"
    after = run(service, data, "--name", name, "--apply", before.run_id, "--", sys.executable, str(script), LONG)
    (entry,) = [entry for entry in judged(client, after.run_id).ledger if entry.advice_of == before.run_id]
    assert entry.observed_speedup is not None
    assert entry.observed_speedup > 1.3


def replayed(service: Service, data: Path, script: Path) -> float:
    """How much faster than the training its replay was."""
    done = run(service, data, "--replay", "30", "--", sys.executable, str(script), LONG)
    assert "trained" not in done.output
    found = re.search(r"replay of 30 batches: .*: (\d+\.\d+) times as fast$", done.errors, re.MULTILINE)
    assert found, done.errors
    return float(found[1])


@pytest.mark.soak(passes=2, of=3)
def test_replayed_batches_show_what_instant_data_would_gain(service: Service, data: Path, script: Path) -> None:
    assert 2 < replayed(service, data, script) < 4


def test_a_command_without_a_loader_is_a_run_that_says_so(gallery: Service, data: Path) -> None:
    done = run(gallery, data, "--", "true")
    (run_id,) = re.findall(r"/runs/(true-\w+): no loader seen", done.errors)
    client = Client(gallery.address)
    # The command waits for a collector no longer than it ran itself.
    ended = (run_id, "finished")
    wait_until(lambda: ended in [(each.run_id, each.status) for each in client.runs().runs], "its only window arrives")
    found = client.run(run_id)
    assert found.not_measured["loader"].startswith("no loader seen: no Python ran here")
