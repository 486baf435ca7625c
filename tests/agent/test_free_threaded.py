"""A free-threaded Python: torch's code is left alone, and the run says why nothing is measured."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest
from torch.utils.data import DataLoader

import underfed
from tests.fakes.datasets import Numbers
from tests.fakes.service import Service, wait_until
from tests.fakes.traces import patched_attributes
from underfed.exchange import launch
from underfed.trainer import control
from underfed.trainer.hooks.install import FREE_THREADED, LOADING_FACTS, STEP_FACTS


@pytest.fixture(autouse=True)
def free_threaded(guest: None, monkeypatch: pytest.MonkeyPatch) -> None:
    known = sysconfig.get_config_var
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1 if name == "Py_GIL_DISABLED" else known(name))


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_watched_loader_is_left_alone_with_the_reason(service: Service, num_workers: int) -> None:
    loader = DataLoader(Numbers(), batch_size=4, num_workers=num_workers)
    underfed.watch(loader, name="train")
    assert patched_attributes() == []
    assert len(list(loader)) == len(loader)
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    facts = service.loaders()["train"]
    reasons = facts["not_measured"]
    assert {reasons[name] for name in (*STEP_FACTS, *LOADING_FACTS) if name != "queue_depth"} == {FREE_THREADED}
    assert service.steps() == []


def test_an_iterator_that_lives_already_is_left_alone_too(service: Service) -> None:
    loader = DataLoader(Numbers(), batch_size=4)
    loader.kept = iter(loader)
    underfed.watch(loader, name="train")
    assert next(loader.kept) is not None  # type: ignore[attr-defined]
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert service.steps() == []


def test_underfed_run_reports_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(launch.LAUNCH, str(tmp_path))
    control.watch_all()
    assert patched_attributes() == []
    assert launch.read_reports(tmp_path)[launch.UNHOOKED] == [FREE_THREADED]
    assert launch.why_no_loader(launch.read_reports(tmp_path)) == f"no loader seen: {FREE_THREADED}"
