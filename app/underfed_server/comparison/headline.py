"""The one sentence over a comparison: the run that is fastest, or why none is told to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from underfed_server.comparison import sentence
from underfed_server.comparison.against import Against, compare
from underfed_server.comparison.side import Measured, Side


@dataclass(frozen=True, slots=True)
class Compared:
    """A run with what was measured of it, in the unit that all are compared in."""

    side: Side
    measured: Measured | None
    per: sentence.Per

    @property
    def why_not(self) -> str | None:
        """Why it has no figures; or none that others could be held against."""
        if self.side.why_not is not None or self.measured is None:
            return self.side.why_not or "it has too few steps"
        if self.per == "samples" and self.side.batch is None:
            return "batch sizes differ, and how many samples it has in a batch is not known"
        return None

    def against(self, other: Compared) -> Against | None:
        """How fast it is, held against the ``other``; ``None``: they cannot be compared."""
        before, after = other.measured, self.measured
        if before is None or after is None or other.why_not or self.why_not:
            return None
        batches = (other.side.batch or 1.0, self.side.batch or 1.0) if self.per == "samples" else None
        return compare(before, after, batches)

    def sentence(self, baseline: Compared, found: Against | None) -> str:
        if found is not None:
            return sentence.against(self.side.label, baseline.side.label, found, self.per)
        which = self if self.why_not else baseline
        return sentence.not_comparable(which.side.label, which.why_not or "it has no figures")


Found = Sequence[tuple[Compared, Against | None]]


def headline(baseline: Compared, others: Found) -> str:
    """``others``: each against the ``baseline``."""
    if len(others) == 1 or baseline.why_not:
        run, found = others[0]
        return run.sentence(baseline, found)
    known = [(run, found) for run, found in others if found]
    faster = sorted(
        ((run, found) for run, found in known if found.speed.is_told and found.speed.factor > 1),
        key=lambda each: -each[1].speed.factor,
    )
    if not faster:
        return sentence.none_faster(baseline.side.label, len(known), len(others))
    run, found = faster[0]
    return sentence.fastest(run.side.label, len(others), baseline.side.label, found, run.per, _rival(faster))


def _rival(faster: Sequence[tuple[Compared, Against]]) -> str | None:
    """The next one, where the two cannot be told apart."""
    if len(faster) < 2:
        return None
    between = faster[0][0].against(faster[1][0])
    return None if between is None or between.speed.is_told else faster[1][0].side.label
