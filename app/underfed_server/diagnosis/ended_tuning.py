"""What is said of tuning once the run has ended: its process may have been killed before it could say so."""

from __future__ import annotations

from collections.abc import Mapping

from underfed_server.model import Setting, Status, Tuning

NO_NEWER_REPORT = "nothing was heard of the run since it began to try them"
ASKED = "for candidates"
"""Why it waited, as an agent says it."""


def as_it_ended(tuning: Tuning | None, status: Status) -> Tuning | None:
    """A lost run may still be training, and is described as it was last reported."""
    if tuning is None or status == "running":
        return tuning
    if status == "lost":
        return _changed(tuning, "searching", NO_NEWER_REPORT) if tuning.status == "searching" else tuning
    if tuning.status == "searching":
        return _changed(tuning, "ended", "the run ended within its trials: what they would have shown is not known")
    if tuning.status == "waiting":
        is_asked = tuning.reason in (None, ASKED)
        return _changed(tuning, "left_alone", "the run ended before anything was tried" if is_asked else tuning.reason)
    return tuning


def measured_by_trials(tuning: Tuning | None) -> str | None:
    """What they found, where it is all that is known of the setting in use. ``None``: no other one was kept."""
    if tuning is None or tuning.status != "kept" or tuning.kept is None or tuning.speedup is None:
        return None
    interval = "" if tuning.low is None or tuning.high is None else f" (95%: {tuning.low:.2f} to {tuning.high:.2f})"
    found = changes(tuning.began_with, tuning.kept)
    return f"By its trials the run is × {tuning.speedup:.2f} as fast{interval} with {found}."


def changes(before: Mapping[str, Setting], after: Mapping[str, Setting]) -> str:
    """``num_workers 0 → 3, prefetch_factor None → 2``"""
    names = [name for name in after if before.get(name) != after[name]]
    return ", ".join(f"{name} {before.get(name)} → {after[name]}" for name in names)


def _changed(tuning: Tuning, status: str, reason: str | None) -> Tuning:
    # Validated anew, so that its label is that of the status.
    return Tuning.model_validate(tuning.model_dump(exclude={"status_label"}) | {"status": status, "reason": reason})
