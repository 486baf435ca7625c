"""A run's verdict in one line, for places that take no more: SLURM's ``AdminComment``, a mail's subject, a log."""

from __future__ import annotations

from collections.abc import Iterator

from underfed_server import figures
from underfed_server.model import Diagnosis
from underfed_server.terminal.verdict import word_of

LONGEST = 250
"""Characters. ``scontrol`` passes on more; tools that print such comments cut columns of about this width."""

LONGEST_FIX = 120
"""Of these. What comes before it always has more."""

PLAIN = str.maketrans({"×": "x", "–": "-", "≈": "~", '"': "'", "\\": "/", "`": "'"})
"""A shell and a database in between may take other signs for something else."""


def line_of(found: Diagnosis) -> str:
    """``data-bound: 43% of step time lost to input (too few workers), 48 min lost; first fix: Use 4 workers, x 1.7-2.0;
    run train-7f3a9c2e``. Printable ASCII. What is too long is cut before the fix.
    """
    said, fix, run = _plain("; ".join(_said(found))), _plain(_fix(found)), f"; run {found.run_id}"
    end = f"{_cut(fix, LONGEST_FIX)}{run}"
    return f"{_cut(said, LONGEST - len(end))}{end}"


def _said(found: Diagnosis) -> Iterator[str]:
    word = word_of(found)
    if found.bound == "unknown":
        yield f"{word}: {found.reason or found.sentence}".removesuffix(".")
        if found.waited_fraction is not None and found.status != "running":
            yield f"so far {figures.fraction(found.waited_fraction)} of the time was spent waiting for data"
        return
    cause = f" ({found.causes[0].cause_label})" if found.causes else ""
    yield f"{word}: {_share(found)}{cause}{_lost(found)}"
    for text in found.beside_training[:1]:
        yield text.partition(": ")[0].removesuffix(".")
    if (beside := figures.first_beside(found)) is not None:
        yield f"first fix: {beside}"


def _share(found: Diagnosis) -> str:
    """Of what the verdict is about."""
    copies = None if found.anatomy is None else found.anatomy.copy_fraction
    if found.bound == "transfer" and copies is not None:
        return f"{figures.fraction(copies)} of step time lost to copies"
    return f"{figures.fraction(found.stated_stall_fraction)} of step time lost to input"


def _fix(found: Diagnosis) -> str:
    """Empty where there is none. As ``check`` has it."""
    best = found.best_advice
    if best is None or found.bound == "unknown":
        return ""
    first = "first fix" if figures.first_beside(found) is None else "worth a try"
    return f"; {first}: {best.title}, {figures.gain_of_run(best)}"


def _plain(text: str) -> str:
    plain = text.translate(PLAIN).encode("ascii", "replace").decode()
    return "".join(sign if sign.isprintable() else " " for sign in plain)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."


def _lost(found: Diagnosis) -> str:
    """Of GPUs, where the run computes on them."""
    if found.gpu_hours_lost is not None:
        return f", {figures.hours(found.gpu_hours_lost)} of GPU time lost"
    return "" if found.hours_lost is None else f", {figures.hours(found.hours_lost)} lost"
