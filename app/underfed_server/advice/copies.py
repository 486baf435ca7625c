"""How batches get to the device in this run, and what of that the device waits for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from underfed_server.advice.bounds import BOUNDS
from underfed_server.advice.case import Case
from underfed_server.diagnosis import measures
from underfed_server.model import Evidence


def exposed_fraction(case: Case) -> float | None:
    """Share of a step that the copy is not hidden behind compute; ``None``: copies were not timed."""
    steps = case.rank.steps
    known = np.isfinite(steps.h2d_exposed_us)
    return float(np.sum(steps.h2d_exposed_us[known]) / np.sum(steps.step_us[known])) if known.any() else None


def is_exposed(case: Case) -> bool:
    return (exposed_fraction(case) or 0.0) >= BOUNDS.exposed_copy_fraction


def is_pinned(case: Case) -> bool:
    return bool(case.loader.settings.get("pin_memory"))


def ceiling(case: Case) -> float:
    """Speed-up with no exposed copy at all."""
    return 1 / max(1 - (exposed_fraction(case) or 0.0), 0.01)


def copy_evidence(case: Case) -> Sequence[Evidence]:
    steps, size = case.rank.steps, case.loader.batch_bytes
    copied = measures.mean(steps.h2d_us)
    return [
        Evidence(what="Copy of a batch, not hidden", value=exposed_fraction(case), unit="fraction",
                 series="h2d_exposed_us"),
        Evidence(what="Copying one batch to the device", value=copied, unit="us", series="h2d_us"),
        Evidence(what="Size of a batch", value=size, unit="bytes"),
        Evidence(what="Copied at", value=size / copied * 1e6 if size and copied else None, unit="bytes_per_s"),
    ]  # fmt: skip
