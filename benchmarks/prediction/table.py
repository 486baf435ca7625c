"""Prints how far predictions were off, by pipeline and by kind, beside the noise of the measurement."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import get_args

from benchmarks.prediction.evaluate import Choice, Figure
from benchmarks.prediction.job import Setting
from underfed_server.advice.prediction.regime import Regime

DEAR = 0.03
"""What the advised setting may cost."""

KINDS = ("N → M workers", "N → 0 workers", "0 → N workers", "whole epochs")


def show(figures: Sequence[Figure], choices: Sequence[Choice], noise: Mapping[str, Sequence[float]]) -> None:
    print("\nError of the predicted speed-up: median, 90th percentile (number of predictions)\n")
    names = sorted({figure.pipeline for figure in figures})
    rows = [
        [name, *(_errors(_of(figures, name, kind)) for kind in KINDS), _spread(noise.get(name, []))] for name in names
    ]
    everything = [figure for figure in figures if figure.pipeline in names]
    strays = [stray for each in noise.values() for stray in each]
    rows.append(["all", *(_errors(_of(everything, None, kind)) for kind in KINDS), _spread(strays)])
    _print(["pipeline", *KINDS, "noise of repeats"], rows)
    _intervals(figures)
    _choices(choices)
    _worst(figures)


def _of(figures: Iterable[Figure], pipeline: str | None, kind: str) -> list[Figure]:
    return [figure for figure in figures if pipeline in (None, figure.pipeline) and figure.kind == kind]


def _errors(figures: Sequence[Figure]) -> str:
    return f"{_spread([figure.error for figure in figures])} ({len(figures)})" if figures else "–"


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    return f"{statistics.median(values):.1%}, {_percentile(values, 0.9):.1%}"


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _intervals(figures: Sequence[Figure]) -> None:
    print("\nIntervals: how many hold the observed value, and how wide they are (high over low, less one)\n")
    shown = [figure for figure in figures if figure.is_inside is not None]
    kinds = [[kind, *_held([each for each in shown if each.kind == kind])] for kind in KINDS]
    _print(["kind", "inside", "width"], [*kinds, ["all", *_held(shown)]])
    print("\nThe same by regime\n")
    regimes = [[regime, *_held([each for each in shown if each.group.regime == regime])] for regime in get_args(Regime)]
    _print(["regime", "inside", "width"], regimes)


def _held(figures: Sequence[Figure]) -> tuple[str, str]:
    if not figures:
        return "–", "–"
    widths = [(figure.high or 0.0) / (figure.low or 1.0) - 1 for figure in figures]
    inside = sum(bool(figure.is_inside) for figure in figures) / len(figures)
    return f"{inside:.1%} of {len(figures)}", _spread(widths)


def _choices(choices: Sequence[Choice]) -> None:
    print("\nWhat the advised setting costs against the best one measured, and against the best by other repeats\n")
    rows = []
    for title, wanted in _origins():
        chosen = [choice for choice in choices if wanted(choice)]
        costs = [choice.cost for choice in chosen if choice.cost is not None]
        if costs:
            within = sum(cost <= DEAR for cost in costs) / len(costs)
            fair = [choice.fair_cost for choice in chosen if choice.fair_cost is not None]
            shares = [f"{max(costs):.1%}", f"{within:.0%}", _spread(fair)]
            rows.append([title, f"{len(costs)} of {len(chosen)}", _spread(costs), *shares])
    _print(["recorded", "advised setting was measured", "cost", "most", "at most 3%", "without luck"], rows)
    print("\nThe most costly choices\n")
    known = [choice for choice in choices if choice.cost is not None and choice.cost > DEAR]
    most_costly = sorted(known, key=lambda choice: -(choice.cost or 0.0))[:10]
    _print(
        ["pipeline", "recorded", "advised", "cost"],
        [[each.pipeline, _name(each.source), _name(each.advised), f"{each.cost:.1%}"] for each in most_costly],
    )


def _origins() -> list[tuple[str, Callable[[Choice], bool]]]:
    return [
        ("with workers", lambda choice: choice.source.num_workers > 0),
        ("without workers", lambda choice: choice.source.num_workers == 0),
    ]


def _worst(figures: Sequence[Figure]) -> None:
    print("\nThe ten largest errors\n")
    rows = [
        [
            figure.pipeline,
            _name(figure.source),
            _name(figure.target),
            f"{figure.predicted:.2f}",
            f"{figure.observed:.2f}",
            f"{figure.predicted / figure.observed - 1:+.1%}",
        ]
        for figure in sorted(figures, key=lambda figure: -figure.error)[:10]
    ]
    _print(["pipeline", "from", "to", "predicted", "observed", "error"], rows)


def _name(setting: Setting) -> str:
    words = [f"{setting.num_workers} × {setting.prefetch_factor}" if setting.prefetch_factor else "0"]
    words += ["kept"] if setting.persistent_workers else []
    return " ".join([*words, "epochs"] if setting.epoch_steps else words)


def _print(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(row) + " |")
