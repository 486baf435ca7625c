"""Predicts from each recorded run what every other setting would give, and compares it with what was measured there."""

from __future__ import annotations

import itertools
import json
import math
import random
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.prediction.job import Setting
from benchmarks.prediction.measure import Measured, read
from tests.app.made_windows import posted_window
from underfed_server.advice.advise import advise
from underfed_server.advice.prediction import residuals
from underfed_server.advice.prediction.predict import Predictor, make_predictor
from underfed_server.advice.prediction.regime import PredictionClass, Regime
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.diagnosis.judge import judge
from underfed_server.earlier import read_facts
from underfed_server.facts.record import RunFacts
from underfed_server.store.store import Store

INTERVALS_A_RUN = 1
"""How many randomly chosen settings an interval is computed for: it takes twenty times as long as a figure."""

CHOSEN = ("num_workers", "prefetch_factor")
"""Changes whose settings are among the measured ones."""

Speeds = Mapping[tuple[str, Setting], float]
"""Mean step in microseconds, the median over the repeats."""


@dataclass(frozen=True, slots=True)
class Source:
    """One recorded run, and the settings of its pipeline that were measured."""

    pipeline: str
    setting: Setting
    facts: RunFacts
    measured_us: Mapping[Setting, float]
    repeats_us: Sequence[Mapping[Setting, float]]
    """The same of each repeat."""
    table: Path
    """Residuals of the other pipelines."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One prediction beside what was measured."""

    pipeline: str
    source: Setting
    target: Setting
    predicted: float
    observed: float
    group: PredictionClass
    low: float | None = None
    high: float | None = None

    @property
    def error(self) -> float:
        return abs(self.predicted / self.observed - 1)

    @property
    def residual(self) -> float:
        """As the table of the predictions has it."""
        return math.log(self.observed / self.predicted) / self.group.exposure

    @property
    def is_inside(self) -> bool | None:
        return None if self.low is None or self.high is None else self.low <= self.observed <= self.high

    @property
    def kind(self) -> str:
        if self.source.epoch_steps is not None:
            return "whole epochs"
        if not self.source.num_workers:
            return "0 → N workers"
        return "N → M workers" if self.target.num_workers else "N → 0 workers"


@dataclass(frozen=True, slots=True)
class Choice:
    """The setting that is advised for a run, and what it costs against the best one measured.

    ``None``: the advised one was not among the measured, or not more than once.
    """

    pipeline: str
    source: Setting
    advised: Setting
    cost: float | None
    """Against the fastest: the best of many measured is partly the luckiest."""
    fair_cost: float | None
    """Without that luck: the best by the other repeats, both measured in a repeat that did not choose it."""


def evaluate(directory: Path) -> tuple[list[Figure], list[Choice], dict[str, list[float]]]:
    """All predictions, all choices, and by pipeline how much the same speed-up differs between two repeats."""
    runs = list(read(directory))
    speeds = median_speeds(runs)
    figures: list[Figure] = []
    choices: list[Choice] = []
    with tempfile.TemporaryDirectory() as place, ProcessPoolExecutor() as pool:
        tables = tables_of_others({run.pipeline for run in runs}, Path(place))
        for found, choice in pool.map(predict_all, sources(runs, speeds, tables)):
            figures += found
            choices += [choice] if choice else []
    return figures, choices, noise(runs)


def median_speeds(runs: Iterable[Measured]) -> Speeds:
    seen: dict[tuple[str, Setting], list[float]] = defaultdict(list)
    for run in runs:
        seen[run.pipeline, run.setting].append(run.step_us)
    return {key: statistics.median(values) for key, values in seen.items()}


def noise(runs: Sequence[Measured]) -> dict[str, list[float]]:
    """The ratio, less one, of a speed-up that is measured twice: no prediction can be better than that."""
    seen: dict[tuple[str, int], dict[Setting, float]] = defaultdict(dict)
    for run in runs:
        seen[run.pipeline, run.repeat][run.setting] = run.step_us
    strays: dict[str, list[float]] = defaultdict(list)
    for (name, one), (other_name, other) in itertools.combinations(seen, 2):
        if name != other_name:
            continue
        first, second = seen[name, one], seen[name, other]
        for source, target in itertools.permutations(first.keys() & second.keys(), 2):
            if comparable(source, target):
                strays[name].append(abs((first[source] / first[target]) / (second[source] / second[target]) - 1))
    return strays


def by_repeat(runs: Iterable[Measured]) -> Mapping[str, Sequence[Mapping[Setting, float]]]:
    """Of each pipeline, the mean steps of each repeat without short epochs."""
    seen: dict[str, dict[int, dict[Setting, float]]] = defaultdict(lambda: defaultdict(dict))
    for run in runs:
        if run.setting.epoch_steps is None:
            seen[run.pipeline][run.repeat][run.setting] = run.step_us
    return {pipeline: list(repeats.values()) for pipeline, repeats in seen.items()}


def fair_cost(advised: Setting, repeats: Sequence[Mapping[Setting, float]]) -> float | None:
    """Mean over the repeats of what ``advised`` costs in it against the setting that is best in the others.

    ``None``: it was measured in fewer than two.
    """
    costs = []
    for place, measured in enumerate(repeats):
        others = [each for number, each in enumerate(repeats) if number != place]
        known = {one: [each[one] for each in others if one in each] for one in measured}
        usual = {one: statistics.median(values) for one, values in known.items() if values}
        if advised in measured and usual:
            best = min(usual, key=lambda one: usual[one])
            costs.append(measured[advised] / measured[best] - 1)
    return statistics.mean(costs) if costs else None


def write_residuals(figures: Iterable[Figure], made_of: str, path: Path) -> None:
    """The table that intervals are made of: evenly spaced residuals of each pipeline in each regime."""
    seen: dict[tuple[Regime, str], list[float]] = defaultdict(list)
    for figure in figures:
        seen[figure.group.regime, figure.pipeline].append(figure.residual)
    rows = [
        json.dumps({"regime": regime, "pipeline": pipeline, "values": residuals.thinned(values)})
        for (regime, pipeline), values in sorted(seen.items())
    ]
    lines = ",\n".join(f"  {row}" for row in rows)
    path.write_text(f'{{\n "made_of": {json.dumps(made_of)},\n "residuals": [\n{lines}\n ]\n}}\n')


def tables_of_others(pipelines: Iterable[str], directory: Path) -> Mapping[str, Path]:
    """For each pipeline the table without it: so its intervals are as those of a job that nobody measured."""
    table = json.loads(residuals.TABLE.read_text())
    tables = {pipeline: directory / f"{pipeline}.json" for pipeline in pipelines}
    for pipeline, path in tables.items():
        others = [row for row in table["residuals"] if row["pipeline"] != pipeline]
        path.write_text(json.dumps({**table, "residuals": others}))
    return tables


def comparable(source: Setting, target: Setting) -> bool:
    return source != target and (source.epoch_steps is None) == (target.epoch_steps is None)


def sources(runs: Iterable[Measured], speeds: Speeds, tables: Mapping[str, Path]) -> Iterator[Source]:
    """Each run as the service would know it: its windows, through the store, condensed."""
    runs = list(runs)
    repeats = by_repeat(runs)
    with tempfile.TemporaryDirectory() as place:
        store = Store(f"sqlite:///{place}/underfed.db")
        for run in runs:
            for stored in [store.submit(posted_window(window)) for window in run.windows]:
                stored.result(timeout=60)
            run_id = run.windows[0]["run_id"]
            facts = read_facts(store, run_id, lambda loaders, _status: loaders[0].loader)
            measured = {setting: us for (name, setting), us in speeds.items() if name == run.pipeline}
            of_repeats, table = repeats.get(run.pipeline, []), tables[run.pipeline]
            yield Source(run.pipeline, run.setting, facts, measured, of_repeats, table)
        store.close()


def predict_all(source: Source) -> tuple[list[Figure], Choice | None]:
    residuals.TABLE = source.table
    (rank,) = source.facts.ranks
    assert source.facts.loader is not None
    predictor = make_predictor(rank, source.facts.loader, source.facts.host)
    targets = [setting for setting in source.measured_us if comparable(source.setting, setting)]
    chance = random.Random(source.facts.run_id)
    with_interval = set(chance.sample(targets, min(INTERVALS_A_RUN, len(targets))))
    figures = [figure(source, predictor, target, with_interval=target in with_interval) for target in targets]
    return figures, choose(source) if source.setting.epoch_steps is None else None


def figure(source: Source, predictor: Predictor, target: Setting, *, with_interval: bool) -> Figure:
    asked = SimulatedSetting(
        target.num_workers, target.prefetch_factor or 2, persistent_workers=target.persistent_workers
    )
    observed = source.measured_us[source.setting] / source.measured_us[target]
    group = predictor.class_of(asked)
    if not with_interval:
        return Figure(source.pipeline, source.setting, target, predictor.quick(asked), observed, group)
    found = predictor.predict(asked)
    return Figure(source.pipeline, source.setting, target, found.speedup, observed, group, found.low, found.high)


def choose(source: Source) -> Choice:
    """The setting that is advised for the run, or its own where nothing is advised."""
    verdict = judge(source.facts)
    advised = next((one for one in advise(source.facts, verdict).advice if one.change in CHOSEN), None)
    setting = source.setting if advised is None else _setting(advised.settings)
    steady = [us for each, us in source.measured_us.items() if each.epoch_steps is None]
    measured_us = source.measured_us.get(setting)
    cost = measured_us and measured_us / min(steady) - 1
    return Choice(source.pipeline, source.setting, setting, cost, fair_cost(setting, source.repeats_us))


def _setting(settings: Mapping[str, Any]) -> Setting:
    workers = settings["num_workers"]
    return Setting(workers, settings["prefetch_factor"] if workers else None)
