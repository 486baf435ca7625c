"""Prints what tuning reached and cost, a row for each training, in Markdown."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence

from benchmarks.tune.measure import Tuned

HEADS = (
    "pipeline", "from", "best", "kept", "speed ÷ best", "noise", "trial steps", "trials", "whole ÷ untuned",
    "whole ÷ best", "wrong batches",
)  # fmt: skip


def show(found: Sequence[Tuned]) -> None:
    print(f"\nLoad of the machine meanwhile: {os.getloadavg()[2]:.1f} over 15 minutes, {os.cpu_count()} cores\n")
    print("\n".join(_row(cells) for cells in (HEADS, ["---"] * len(HEADS), *map(_cells, found))))
    if found:
        reached = sorted(_reached(each) for each in found)
        enough = sum(each >= 0.95 for each in reached)
        print(
            f"\nSpeed after tuning ÷ best static: median {statistics.median(reached):.2f}, least {reached[0]:.2f}; "
            f"at least 0.95 in {enough} of {len(reached)}. Wrong batches: {sum(each.wrong for each in found)} of "
            f"{sum(each.steps for each in found):,}."
        )
        print(_noise(found))


def _noise(found: Sequence[Tuned]) -> str:
    """What a difference from 1 has to be larger than."""
    statics = sorted(_static_noise(each) for each in found)
    said = (
        "Noise: the best static setting, measured again after each training, differed by "
        f"{statistics.median(statics):.1%} (median), at most {statics[-1]:.1%}"
    )
    repeats: dict[tuple[str, object, bool], list[float]] = {}
    for each in found:
        repeats.setdefault((each.pipeline, each.start, each.is_worst), []).append(_reached(each))
    spans = [max(speeds) - min(speeds) for speeds in repeats.values() if len(speeds) > 1]
    return f"{said}; repeats of a training by at most {max(spans):.2f} of speed ÷ best." if spans else f"{said}."


def _static_noise(each: Tuned) -> float:
    before, after = each.best_step_s
    return abs(before - after) / ((before + after) / 2)


def _cells(each: Tuned) -> list[str]:
    tuning, (before, after) = each.tuning, each.best_step_s
    best = (before + after) / 2
    return [
        each.pipeline,
        f"{each.start}{' (worst)' if each.is_worst else ''}",
        f"{each.best}",
        _kept(each),
        f"{_reached(each):.2f}",
        f"{_static_noise(each):.1%}",
        str(tuning.trial_steps if tuning else 0),
        f"{tuning.trial_us / 1e6:.1f} s" if tuning else "–",
        f"{each.whole_s / (each.steps * each.start_step_s):.2f}",
        f"{each.whole_s / (each.steps * best):.2f}",
        str(each.wrong),
    ]


def _reached(each: Tuned) -> float:
    return statistics.fmean(each.best_step_s) / each.after_step_s


def _kept(each: Tuned) -> str:
    tuning = each.tuning
    if tuning is None:
        return "not tuned"
    settings = tuning.kept if tuning.status == "kept" else None
    if settings is None:
        return tuning.status_label
    return f"{settings['num_workers']} × {settings['prefetch_factor']}" if settings["num_workers"] else "0"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
