"""How batches get to the device in this run, and for how much of that the device waits."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.advice.case import Case
from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.instant_data import Ceiling
from underfed_server.model import Evidence

EXPOSED_FRACTION = 0.05
"""Exposed copies below it are not worth a change: the same 5 % from which a change is advised."""


def exposed_fraction(case: Case) -> float | None:
    """Share of a step that the copy is not hidden behind compute; ``None``: copies were not timed."""
    exposed = measures.exposed_copy_us(case.rank)
    return None if exposed is None else exposed / case.rank.step_us


def is_exposed(case: Case) -> bool:
    return (exposed_fraction(case) or 0.0) >= EXPOSED_FRACTION


def is_pinned(case: Case) -> bool:
    return bool(case.loader.settings.get("pin_memory"))


def waits_for_input(case: Case) -> bool:
    """For data, or for copies of it."""
    return case.waits_for_data or case.verdict.bound == "transfer"


def blocks_though_pinned(case: Case) -> bool:
    """The copy is exposed although batches are page-locked."""
    return is_pinned(case) and case.facts.uses_gpu and is_exposed(case) and waits_for_input(case)


def ceiling(case: Case) -> Ceiling:
    """Speed-up with no exposed copy at all."""
    speedup = 1 / max(1 - (exposed_fraction(case) or 0.0), 0.01)
    return Ceiling(speedup, speedup)


def copy_evidence(case: Case) -> Sequence[Evidence]:
    steps, size = case.rank.steps, case.loader.batch_bytes
    copied = measures.mean(steps.h2d_us)
    copied_at = size / copied * 1e6 if size and copied else None
    return [
        Evidence(what="Copy that is not hidden, of step time", value=exposed_fraction(case), unit="fraction",
                 series="h2d_exposed_us"),
        evidence.mean_us("Copying one batch", steps.h2d_us, "h2d_us"),
        evidence.batch_bytes(case.loader),
        Evidence(what="Copying speed", value=copied_at, unit="bytes_per_s"),
    ]  # fmt: skip
