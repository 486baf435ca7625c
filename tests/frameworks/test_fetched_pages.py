"""Pages of docs/frameworks whose frameworks are fetched for it, since they are too heavy for every test."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from tests.fakes.launching import run_under
from tests.fakes.received import agent_errors, names, received
from tests.fakes.service import running_service, wait_until
from tests.frameworks.fetched import python_with
from tests.frameworks.pages import STEPS, program_of

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1_800)]


def steps_of(page: str, python: str, place: Path, ranks: int) -> int:
    """Of all ranks, from a training started as the page says."""
    script = place / "train.py"
    script.write_text(program_of(page))
    with running_service() as service:
        variables = {"UNDERFED_URL": service.url, "UNDERFED_DIR": str(place), "UNDERFED_RINGS": str(place)}
        quiet = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "RAY_TMPDIR": tempfile.mkdtemp(prefix="ray-")}
        done = run_under("--", python, str(script), variables=variables | quiet)
        shutil.rmtree(quiet["RAY_TMPDIR"], ignore_errors=True)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: len(service.ends()) == ranks, "all ends arrive")
        assert agent_errors(service) == 0
        if ranks == 1:
            return sum(len(received(service, name).steps) for name in names(service))
        return sum(len(part["data_wait_us"]) for rank in range(ranks) for part in service.steps(rank=rank))


def test_the_page_of_datasets(tmp_path: Path) -> None:
    python = python_with("datasets", place=tmp_path)
    assert steps_of("datasets", python, tmp_path, ranks=1) == STEPS["datasets"]


def test_the_page_of_ray(tmp_path: Path) -> None:
    python = python_with("ray[train]", place=tmp_path)
    assert steps_of("ray", python, tmp_path, ranks=2) == STEPS["ray"]
