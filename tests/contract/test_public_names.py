"""Names that users type and read exist: Python names, commands, verdicts, and every promise of the README."""

from __future__ import annotations

import inspect
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest

import underfed
from tests.app.serving import IMPORTED
from tests.fakes.forkserver import python, start
from tests.fakes.jobs import end, environment
from underfed.commands.cli import help_text
from underfed_server.model import Bound, Level, Status, TuningStatus
from underfed_server.names import CAUSES, CHANGES, all_labels

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()

BOUNDS = "data transfer compute host unknown"
LEVELS = "healthy watch limited bound unknown"
CONTRACT_CAUSES = """no_workers too_few_workers cpu_limited thread_oversubscription storage_wait slow_collate ipc_copy
pin_thread worker_startup slow_samples slow_sampler unsharded_iterable pageable_copy memory_pressure slow_rank
few_shards dispatched_batches state_snapshot"""
LATER_CAUSES = "storage_limit"
CONTRACT_CHANGES = """num_workers prefetch_factor persistent_workers pin_memory non_blocking in_order threads_per_worker
tmpfs shm_size cpu_allocation prefetcher gpu_decode vectorize_collate vectorize_getitem faster_sampler shard_iterable
multiprocessing_context sharing_strategy fewer_tensors fix_rank more_shards
smaller_dtype snapshot_interval cheaper_transform"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def commands_of_the_help() -> set[str]:
    return set(re.findall(r"^  (\w+) ", help_text(), re.MULTILINE))


@pytest.mark.parametrize(("names", "contract", "later"), [
    (get_args(Bound), BOUNDS, ""), (get_args(Level), LEVELS, ""),
    (CAUSES, CONTRACT_CAUSES, LATER_CAUSES), (CHANGES, CONTRACT_CHANGES, ""),
])  # fmt: skip
def test_verdicts_causes_and_changes_are_those_of_the_contract(names: Sequence[str], contract: str, later: str) -> None:
    assert set(contract.split()) <= set(names) <= {*contract.split(), *later.split()}


def test_every_name_has_a_label_of_its_own_kind() -> None:
    labels = all_labels()
    assert set(labels["bound"]) == set(get_args(Bound))
    assert set(labels["level"]) == set(get_args(Level))
    assert set(labels["status"]) == set(get_args(Status))
    assert set(labels["tuning"]) == set(get_args(TuningStatus))
    for kind in ("cause", "change", "status"):
        assert len(set(labels[kind].values())) == len(labels[kind]), kind


def test_the_agent_has_five_functions_and_a_run() -> None:
    assert sorted(underfed.__all__) == ["Run", "finish", "init", "prefetch", "stats", "watch"]
    assert list(inspect.signature(underfed.prefetch).parameters) == ["loader", "device", "transform"]
    assert not inspect.signature(underfed.stats).parameters
    assert list(inspect.signature(underfed.watch).parameters) == ["loader", "name", "tune"]
    assert list(inspect.signature(underfed.init).parameters) == ["project", "name", "tags", "config"]
    assert all(inspect.getdoc(getattr(underfed, name)) for name in underfed.__all__)


def test_the_command_has_the_documented_sub_commands() -> None:
    documented = set(re.findall(r"^\| `underfed (\w+)", README, re.MULTILINE))
    assert (
        documented
        == commands_of_the_help()
        == {
            *("demo", "serve", "run", "runs", "show", "compare", "push", "doctor", "token", "backup", "migrate"),
            *("export", "delete", "restore", "check", "alerts"),
        }
    )


@pytest.mark.parametrize("flags", sorted(set(re.findall(r"^\| `underfed (\w+ [^`]*--[^`]*)`", README, re.MULTILINE))))
def test_the_documented_flags_exist(flags: str) -> None:
    command, *words = flags.split()
    shown = end(start("underfed.commands.cli", [command, "--help"], environment(), imported=IMPORTED))
    assert shown.returncode == 0, shown.stderr
    assert {word.strip("[]") for word in words if word.startswith("[--")} <= set(re.findall(r"--[\w-]+", shown.stdout))


def test_the_readmes_line_is_all_a_script_needs(tmp_path: Path) -> None:
    (example,) = blocks("python")
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "loader = given = DataLoader(TensorDataset(torch.arange(8)), batch_size=4)\n"
        f"{example}\n"
        "assert loader is given and type(loader) is DataLoader\n"
        "print([batch[0].tolist() for batch in loader])\n"
    )
    environment = {"UNDERFED_DIR": str(tmp_path), "UNDERFED_URL": "http://127.0.0.1:9", "PATH": "/usr/bin:/bin"}
    ran = subprocess.run([python(), str(script)], env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "[[0, 1, 2, 3], [4, 5, 6, 7]]\n"), ran.stderr
    page, *rest = ran.stderr.splitlines()
    assert page.startswith("underfed: run train at http://127.0.0.1:9/runs/")
    # Of a collector that has not answered by the end, as where others have the cores, nothing is said.
    assert len(rest) <= 1 and all(
        re.search("`UNDERFED_URL=http://127.0.0.1:9 underfed push` sends (it|them)", line) for line in rest
    )


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) < 150


def test_the_readmes_make_targets_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {line.split()[1] for block in blocks("sh") for line in block.splitlines() if line.startswith("make ")}
    assert named == {"demo", "test", "soak", "faults", "check", "bench"}
    assert named <= targets


def test_the_readmes_variables_are_read() -> None:
    sources = "".join(path.read_text() for part in ("agent", "app") for path in sorted((ROOT / part).rglob("*.py")))
    named = set(re.findall(r"UNDERFED_[A-Z_]+", README))
    assert {"UNDERFED_URL", "UNDERFED_TOKEN", "UNDERFED_DISABLED"} <= named
    assert [name for name in sorted(named) if f'"{name}"' not in sources] == []
