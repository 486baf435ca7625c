"""A line on each loader of a run, with the verdict that it has when it is looked at by itself."""

from __future__ import annotations

from underfed_server.diagnosis.bound import find_bound, find_level, read_losses
from underfed_server.diagnosis.chosen_loader import loop_share
from underfed_server.diagnosis.slow_ranks import SlowRanks, slow_ranks
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.growth import US_PER_HOUR
from underfed_server.facts.record import LoaderFacts, RunFacts
from underfed_server.model import Bound, Level, LoaderLine, Verdict


def line_of(each: LoaderFacts, facts: RunFacts, slow: SlowRanks, verdict: Verdict) -> LoaderLine:
    """``slow``: of the run. ``verdict``: on the judged loader, which is kept while its loss is near the limit."""
    slow = slow if each is facts.judged_loader else slow_ranks(each.ranks)
    bound, level, fraction = _judged_alone(each, slow)
    if each is facts.judged_loader:
        bound, fraction = verdict.bound, verdict.data_stall_fraction
    return LoaderLine(
        loader=each.loader,
        role=each.role,
        bound=bound,
        level="unknown" if bound == "unknown" else level,
        data_stall_fraction=fraction,
        hours_lost=slow.input_lost_us / US_PER_HOUR,
        share_of_run_fraction=loop_share(each, facts.loaders),
        steps=each.steps,
        epochs=each.epochs,
        loop=each.loop,
        rank=slow.named,
    )


def _judged_alone(each: LoaderFacts, slow: SlowRanks) -> tuple[Bound, Level, float | None]:
    if each.judged_steps < THRESHOLDS.needed_steps:
        return "unknown", "unknown", None
    losses = read_losses(slow.judged, slow.late_in_turn)
    return find_bound(losses), find_level(losses.loop), losses.data
