"""The diagnosis of a run that was not judged yet."""

from __future__ import annotations

from underfed_server.diagnosis.sentence import no_loader, no_verdict, why_no_loader
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Diagnosis, RunSummary


def unjudged(run: RunSummary) -> Diagnosis:
    """No verdict and no figure, but the reason."""
    needed = THRESHOLDS.warmup_steps + THRESHOLDS.needed_steps
    reason = f"not judged yet: {run.steps} steps arrived, a verdict needs {needed}"
    return Diagnosis(
        run_id=run.run_id,
        status=run.status,
        steps=run.steps,
        loader=None,
        bound="unknown",
        clock="host",
        level="unknown",
        confidence=None,
        reason=why_no_loader(run.no_loader) if run.no_loader else reason,
        sentence=no_loader() if run.no_loader else no_verdict(run.status),
        why=None,
        judged_steps=0,
        needed_steps=needed,
        warmup_steps=THRESHOLDS.warmup_steps,
        data_stall_fraction=None,
        steps_per_s=None,
        samples_per_s=None,
        instant_data_steps_per_s=None,
        hours_lost=None,
        gpu_hours_lost=None,
        hours_used=None,
        anatomy=None,
        causes=[],
        signals=[],
        advice=[],
        refusals=[],
        ranks=[],
        ledger=[],
        judged_at=None,
    )
