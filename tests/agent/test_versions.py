"""What a run says of the PyTorch that it computes with: as built, and of its device only while that is in use."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import underfed
from tests.fakes.datasets import Numbers
from tests.fakes.service import Service, Window, wait_until
from underfed.trainer.device.versions import NO_CUDNN, NO_DEVICE, NOT_IN_USE, ROCM, cudnn_version, dotted

CUDNN = SimpleNamespace(getVersionInt=lambda: 91002)


def built(cuda: str | None = None, hip: str | None = None, *, in_use: bool = True, **private: Any) -> Any:
    """A torch that answers no other question than these."""
    return SimpleNamespace(
        version=SimpleNamespace(cuda=cuda, hip=hip),
        cuda=SimpleNamespace(is_initialized=lambda: in_use),
        _C=SimpleNamespace(**private),
    )


def run_facts(service: Service) -> Window:
    """The versions reported last."""
    sent: list[Window] = [window["run"] for window in service.windows if "run" in window]
    return sent[-1]


@pytest.mark.parametrize(("number", "version"), [(91002, "9.10.2"), (90100, "9.1.0"), (8902, "8.9.2"), (7605, "7.6.5")])
def test_the_number_of_cudnn_is_read_as_its_version(number: int, version: str) -> None:
    assert dotted(number) == version


def test_cudnn_is_asked_only_while_its_device_is_in_use() -> None:
    def touched() -> int:
        raise AssertionError("this loads a library")

    asleep = SimpleNamespace(getVersionInt=touched)
    assert cudnn_version(built("12.8", in_use=False, _cudnn=asleep)) == (None, NOT_IN_USE)
    assert cudnn_version(built("12.8", _cudnn=CUDNN)) == ("9.10.2", None)


def test_why_there_is_no_version_of_cudnn_is_said() -> None:
    def failing() -> int:
        raise RuntimeError("libcudnn_graph.so.9 was not found\nand more")

    assert cudnn_version(built()) == (None, NO_DEVICE)
    assert cudnn_version(built(hip="6.4", _cudnn=CUDNN)) == (None, ROCM)
    assert cudnn_version(built("12.8")) == (None, NO_CUDNN)
    broken = SimpleNamespace(getVersionInt=failing)
    assert cudnn_version(built("12.8", _cudnn=broken)) == (None, "cuDNN: libcudnn_graph.so.9 was not found")


@pytest.mark.skipif(torch.version.cuda is not None or torch.version.hip is not None, reason="built for a device")
def test_a_run_without_a_device_says_why_it_names_no_versions(service: Service) -> None:
    for _ in underfed.watch(DataLoader(Numbers()), name="train"):
        pass
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    facts = run_facts(service)
    assert facts["torch_version"] == torch.__version__
    assert not facts.keys() & {"cuda_version", "hip_version", "cudnn_version"}
    assert [facts["not_measured"][f"{name}_version"] for name in ("cuda", "hip", "cudnn")] == [NO_DEVICE] * 3


def test_the_version_of_a_device_that_is_used_later_is_reported_then(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch._C, "_cudnn", CUDNN, raising=False)
    loader = underfed.watch(DataLoader(Numbers()), name="train")
    for _ in loader:
        pass
    wait_until(lambda: any("cuda_version" in window.get("run", {}) for window in service.windows), "the run is sent")
    assert run_facts(service)["not_measured"]["cudnn_version"] == NOT_IN_USE
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    for _ in loader:
        pass
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    facts = run_facts(service)
    assert (facts["cuda_version"], facts["cudnn_version"]) == ("12.8", "9.10.2")
    assert "cudnn_version" not in facts["not_measured"]
