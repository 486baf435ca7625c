"""A run's verdict in one line, for places that take no more: SLURM's ``AdminComment``, a mail's subject, a log."""

from __future__ import annotations

from underfed_server import figures
from underfed_server.model import Diagnosis
from underfed_server.terminal.verdict import verdict_word

LONGEST = 250
"""Characters. ``scontrol`` passes on more; tools that print such comments cut columns of about this width."""

PLAIN = str.maketrans({"×": "x", "–": "-", "≈": "~", '"': "'", "\\": "/", "`": "'"})
"""A shell and a database in between may take other signs for something else."""


def line_of(found: Diagnosis) -> str:
    """``data-bound: 43% of step time lost to input (too few workers), 48 min lost; first fix: Use 4 workers, x 1.7-2.0;
    run train-7f3a9c2e``. Printable ASCII."""
    word = verdict_word(found.bound, found.level, found.status)
    if found.bound == "unknown":
        said = [f"{word}: {found.reason or found.sentence}".removesuffix(".")]
    else:
        cause = f" ({found.causes[0].cause_label})" if found.causes else ""
        said = [
            f"{word}: {figures.fraction(found.data_stall_fraction)} of step time lost to input{cause}{_lost(found)}"
        ]
        if found.is_beside_first and found.beside_loader is not None:
            said.append(f"outside the loader: {found.beside_loader.removesuffix('.')}")
        elif found.best_advice is not None:
            said.append(f"first fix: {found.best_advice.title}, {figures.gain_of_run(found.best_advice)}")
    run = f"; run {found.run_id}"
    plain = "; ".join(said).translate(PLAIN).encode("ascii", "replace").decode()
    line = "".join(sign if sign.isprintable() else " " for sign in plain)
    return (line if len(line) + len(run) <= LONGEST else f"{line[: LONGEST - len(run) - 3]}...") + run


def _lost(found: Diagnosis) -> str:
    """Of GPUs, where the run computes on them."""
    if found.gpu_hours_lost is not None:
        return f", {figures.hours(found.gpu_hours_lost)} of GPU time lost"
    return "" if found.hours_lost is None else f", {figures.hours(found.hours_lost)} lost"
