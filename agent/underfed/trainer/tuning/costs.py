"""What trials cost, and what was gained since, in time."""

from __future__ import annotations

from collections.abc import Sequence

from underfed.trainer.tuning.blocks import mean_ns
from underfed.trainer.tuning.conductor import Conductor
from underfed.trainer.tuning.search import Search


def gained_ns(conductor: Conductor) -> int:
    """Since another setting is kept, at the difference that was measured."""
    if not conductor.searches or conductor.kept_from_step is None or conductor.setting == conductor.began_with:
        return 0
    first, last = conductor.searches[0], conductor.searches[-1]
    before, after = mean_ns(first.trials[0].blocks), mean_ns(last.best.blocks)
    if before is None or after is None:
        return 0
    return max(0, round((conductor.steps - conductor.kept_at_steps) * (before - after)))


def lost_ns(searches: Sequence[Search]) -> int:
    """By all blocks together, the starts of their workers among them, against what each search began with."""
    lost = 0.0
    for search in searches:
        usual = mean_ns(search.trials[0].blocks) or 0.0
        blocks = [block for trial in search.trials for block in trial.blocks]
        lost += max(0.0, sum(block.end_ns - block.start_ns - block.steps * usual for block in blocks if block.steps))
    return round(lost)
