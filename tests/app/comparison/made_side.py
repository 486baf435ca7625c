"""Sides of a comparison from a few plain numbers: a run, its verdict and its steps."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_facts import made_run
from underfed_server.comparison.side import Side
from underfed_server.facts.record import RankFacts
from underfed_server.model import LoaderInfo, Losses, Run

AT = datetime(2026, 11, 20, tzinfo=timezone.utc)


def made_side(name: str, rank: RankFacts | None = None, *, batch: int = 32, **changes: Any) -> Side:
    """``changes``: fields of the run. Without ``rank`` it has no steps to compare."""
    why_not = None if rank else "it has too few steps"
    step_s = rank.step_us / 1e6 if rank else 1.0
    judged = made_diagnosis(name, steps_per_s=1 / step_s, samples_per_s=batch / step_s)
    loader = made_loader({"num_workers": 4, "batch_size": batch} | changes.pop("settings", {}))
    return Side(described(name, loaders=[loader], **changes), changes.get("label", name), judged, rank, why_not)


def steps(wait_ms: float | list[float], work_ms: float = 50.0) -> RankFacts:
    """A wait given as one figure gets some spread."""
    waits = wait_ms if isinstance(wait_ms, list) else [wait_ms * 0.9, wait_ms * 1.2, wait_ms * 0.9]
    return made_run(wait_ms=waits, work_ms=work_ms).ranks[0]


def made_loader(settings: dict[str, Any]) -> LoaderInfo:
    return LoaderInfo(
        loader="train", settings=settings, dataset_type="ImageFolder", dataset_kind="map", dataset_length=1000,
        batches_per_epoch=None, sampler_type=None, collate_type=None, transforms=["Crop"], watched_at=None,
        batch_tensors=2, batch_bytes=1_000, shards=None, why_unsharded=None, compared_batches=None,
        repeated_batches=None, not_measured={},
    )  # fmt: skip


def described(run_id: str, **changes: Any) -> Run:
    known: dict[str, Any] = {
        "run_id": run_id, "project": "vision", "name": run_id, "job": "vision/resnet", "tags": {}, "status": "finished",
        "bound": "data", "level": "bound", "cause": None, "data_stall_fraction": 0.4, "steps": 300, "steps_per_s": None,
        "samples_per_s": None, "step_us": None, "hours_lost": None, "gpu_hours_lost": None, "best_advice": None,
        "observed_speedup": None, "spark": [], "num_workers": 4, "world_size": 1, "gpus": None, "gpu_name": None,
        "hostnames": ["node-1"], "user": "ada", "started_at": AT, "last_seen_at": AT, "ended_at": AT,
        "exit_reason": None, "archived_at": None, "no_loader": None, "command": ["python", "train.py"],
        "script": "train.py", "config": {}, "overrides": {}, "advice_of": None, "replay": None, "started_by": None,
        "launcher": None, "restart_count": None, "agent_version": None, "python_version": "3.11", "torch_version": None,
        "cuda_version": None, "hip_version": None, "cudnn_version": None,
        "ranks": [0], "loaders": [], "hosts": [], "devices": [], "epochs": [], "storage": [], "died_workers": [],
        "losses": Losses(dropped_steps=0, dropped_batches=0, dropped_windows=0, rejected_windows=0, agent_errors=0),
        "overhead_us": None, "not_measured": {}, "notes": "",
    }  # fmt: skip
    return Run(**(known | changes))
