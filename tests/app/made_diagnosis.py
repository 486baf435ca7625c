"""A diagnosis with the figures that the list of runs shows, and nothing else."""

from __future__ import annotations

from typing import Any

from underfed_server.model import Advice, Anatomy, CauseFinding, Diagnosis, LedgerEntry


def made_diagnosis(run_id: str = "run-1", **changes: Any) -> Diagnosis:
    figures: dict[str, Any] = {
        "run_id": run_id, "status": "running", "steps": 100, "loader": "train", "bound": "data", "clock": "host",
        "level": "bound", "confidence": "high", "reason": None, "sentence": "It waits.", "why": None,
        "judged_steps": 95, "needed_steps": 25, "warmup_steps": 5, "data_stall_fraction": 0.4, "steps_per_s": 10.0,
        "samples_per_s": 320.0, "instant_data_steps_per_s": 16.7, "hours_lost": 2.0, "gpu_hours_lost": None,
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
