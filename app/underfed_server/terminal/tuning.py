"""What ``--tune`` did, as a table of its trials under one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from underfed_server import figures
from underfed_server.diagnosis.ended_tuning import changes
from underfed_server.model import Trial, Tuning

QUIET, LOUD, GOOD = "bright_black", "bold", "green"


def render_tuning(tuning: Tuning, trials: Sequence[Trial]) -> RenderableType:
    title = Text.assemble(("Tuning", LOUD), "  ", (tuning.status_label, GOOD if tuning.status == "kept" else QUIET))
    body: list[RenderableType] = [Text(line) for line in (_gained(tuning), tuning.reason) if line]
    body += [_table(trials)] if trials else []
    return Group(title, Padding(Group(*body), (0, 0, 0, 2))) if body else title


def _gained(tuning: Tuning) -> str | None:
    """``num_workers 0 → 3: × 2.10 as fast, measured (2.00–2.20); 41 s of trials, 3 min (2 min–4 min) gained since``"""
    if tuning.status != "kept" or tuning.kept is None:
        return None
    interval = "" if tuning.low is None or tuning.high is None else f" ({tuning.low:.2f}–{tuning.high:.2f})"
    spent = f"{figures.duration(tuning.trial_us)} of trials{_since(tuning)}"
    speed = f"{figures.factor(tuning.speedup)} as fast, measured in turns{interval}"
    return f"{changes(tuning.began_with, tuning.kept)}: {speed}; {spent}"


def _since(tuning: Tuning) -> str:
    """Nothing where it is not measured."""
    if tuning.gained_us is None:
        return ""
    ends = (figures.duration(each) for each in (tuning.gained_low_us, tuning.gained_high_us))
    return f", {figures.duration(tuning.gained_us)} ({'–'.join(ends)}) gained since"


def _table(trials: Sequence[Trial]) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style=QUIET)
    names = varying(trials)
    table.add_column("", style=QUIET, no_wrap=True)
    for name in (*names, "steps", "steps/s", "gain", "predicted"):
        table.add_column(name, justify="right", no_wrap=True)
    for trial in trials:
        gains = (trial.speedup, trial.predicted_speedup) if trial.number else (None, None)
        table.add_row(
            "before" if not trial.number else Text("kept", GOOD) if trial.kept else "",
            *(str(trial.settings.get(name)) for name in names),
            f"{trial.steps:,}",
            _pace(trial),
            *(figures.factor(gain) if trial.number else "" for gain in gains),
            style=LOUD if trial.kept and trial.number else "",
        )
    reasons = [Text(f"{_named(trial, names)}: {trial.reason}", QUIET) for trial in trials if trial.reason]
    return Group(table, *reasons)


def _named(trial: Trial, names: Sequence[str]) -> str:
    return ", ".join(f"{name}={trial.settings.get(name)}" for name in names)


def _pace(trial: Trial) -> str:
    """``10.5 (10.1–10.9)``"""
    interval = [figures.amount(end) for end in (trial.low, trial.high) if end is not None]
    return figures.amount(trial.steps_per_s) + (f" ({'–'.join(interval)})" if interval else "")


def varying(trials: Sequence[Trial]) -> list[str]:
    """The settings in which trials differ."""
    names = dict.fromkeys(name for trial in trials for name in trial.settings)
    return [name for name in names if len({trial.settings.get(name) for trial in trials}) > 1]
