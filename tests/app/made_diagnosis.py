"""A diagnosis with the figures that the list of runs shows, and nothing else."""

from __future__ import annotations

from typing import Any

from underfed_server.model import Advice, Anatomy, CauseFinding, Diagnosis, LedgerEntry, Trial, Tuning


def made_diagnosis(run_id: str = "run-1", **changes: Any) -> Diagnosis:
    figures: dict[str, Any] = {
        "run_id": run_id, "status": "running", "steps": 100, "loader": "train", "bound": "data", "clock": "host",
        "level": "bound", "confidence": "high", "reason": None, "sentence": "It waits.", "why": None,
        "judged_steps": 95, "needed_steps": 25, "warmup_steps": 5, "data_stall_fraction": 0.4, "steps_per_s": 10.0,
        "samples_per_s": 320.0, "instant_data_steps_per_s": 16.7,
        "instant_data_high_steps_per_s": 16.7, "hours_lost": 2.0, "gpu_hours_lost": None,
        "hours_used": 5.0, "causes": [made_cause()], "signals": [], "advice": [made_advice()], "refusals": [],
        "ranks": [], "ledger": [], "judged_at": None,
        "anatomy": Anatomy(step_us=100_000, data_wait_us=40_000, h2d_exposed_us=None, compute_us=60_000),
    }  # fmt: skip
    return Diagnosis(**(figures | changes))


def made_cause(cause: str = "no_workers") -> CauseFinding:
    return CauseFinding.model_validate({"cause": cause, "cost_fraction": 0.4, "sentence": "So.", "evidence": []})


def made_advice(speedup: float | None = 1.6) -> Advice:
    return Advice(
        change="num_workers", from_=0, to=4, predicted_speedup=speedup, low=None, high=None, ceiling=None,
        settings={"num_workers": 4}, title="Use workers", why="So.", evidence=[], anatomy=None,
        changes_batch_order=False, risk="", diff="", diff_file=None, command=None, assumption=None,
    )  # fmt: skip


def made_entry(run_id: str, observed: float | None) -> LedgerEntry:
    return LedgerEntry(
        advice_of="earlier", run_id=run_id, change="num_workers", settings={}, predicted_speedup=1.6, low=None,
        high=None, observed_speedup=observed, observed_low=None, observed_high=None, inside_interval=None,
    )  # fmt: skip


NONE = {"num_workers": 0, "prefetch_factor": None, "pin_memory": False}
THREE = {"num_workers": 3, "prefetch_factor": 2, "pin_memory": False}


def made_tuning(**changes: Any) -> Tuning:
    """One search kept three workers."""
    said: dict[str, Any] = {
        "loader": "train", "rank": 0, "status": "kept", "reason": None, "began_with": NONE, "kept": THREE,
        "kept_from_step": 140, "speedup": 2.1, "low": 2.0, "high": 2.2, "trial_steps": 80, "trial_us": 41_000_000,
        "gained_us": 180_000_000, "gained_low_us": 120_000_000,
        "gained_high_us": 240_000_000, "lost_us": 2_000_000, "searches": 1, "lines": ["num_workers=3"],
    }  # fmt: skip
    return Tuning(**(said | changes))


def made_trials() -> list[Trial]:
    said: dict[str, Any] = {
        "rank": 0, "search": 0, "steps": 30, "blocks": [], "predicted_speedup": None, "predicted_low": None,
        "predicted_high": None, "speedup": None, "reason": None, "kept": False,
    }  # fmt: skip
    before = {"number": 0, "settings": NONE, "steps_per_s": 5.0, "low": 4.9, "high": 5.1, "reason": "it is slower"}
    kept = {"number": 1, "settings": THREE, "steps_per_s": 10.5, "low": 10.1, "high": 10.9, "kept": True}
    gains = {"speedup": 2.1, "predicted_speedup": 1.9}
    return [Trial(**(said | before)), Trial(**(said | kept | gains))]
