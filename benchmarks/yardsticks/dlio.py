"""Workloads of the DLIO benchmark, run from a checkout: what it measures of itself beside what is said of its run.

Its own figures: accelerator utilisation (AU), the share of time in computing; ``load``, the wait for each batch; and
samples a second.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

from benchmarks.unseen.rows import advised, answer
from benchmarks.unseen.trial import RealService, service_of_its_own
from benchmarks.yardsticks.dlio_environment import Dlio, fetch, knows, make_environment
from benchmarks.yardsticks.dlio_workloads import PREFETCHED, WORKLOADS, Own, Series
from benchmarks.yardsticks.markdown import table
from underfed_server.advice.prediction.predict import Prediction, make_predictor
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.advice.prediction.workload import PredictionError
from underfed_server.diagnosis.slow_ranks import slow_ranks
from underfed_server.earlier import named, read_facts
from underfed_server.facts.places import storage_place
from underfed_server.facts.record import RunFacts
from underfed_server.store.store import Store

CHECKOUTS = (
    "checkouts of DLIO to run instead of those that are fetched from GitHub; a workload is run from the first that"
    " knows its format"
)
READ_THREADS = (0, 1, 2, 4)


@dataclass(frozen=True, slots=True)
class Predicted:
    """A factor on steps a second with its interval."""

    speedup: float
    low: float
    high: float

    @classmethod
    def of(cls, found: Prediction) -> Predicted:
        return cls(found.speedup, found.low, found.high)


@dataclass(frozen=True, slots=True)
class Run:
    """One recorded run, as DLIO and as Underfed saw it."""

    workload: str
    read_threads: int
    own: tuple[Own, ...]
    """Of each repeat; what is said is of the first."""
    diagnosis: Any
    data_wait_s: float
    """Mean over the judged steps: those after warm-up."""
    predicted: Mapping[int, Predicted]
    """By ``read_threads``: of every other setting."""

    @property
    def samples_per_s(self) -> float:
        return statistics.median(own.samples_per_s for own in self.own)


def measure(folder: Path, checkouts: Sequence[Path], repeats: int, steps: int | None) -> None:
    """``checkouts``: none to fetch them. Workloads whose format no checkout knows are named and left out."""
    checkouts = checkouts or fetch(folder)
    if not checkouts:
        print("dlio is left out: there is no checkout of it.", flush=True)
        return
    python = make_environment(folder / "environment")
    runs: list[Run] = []
    for workload in WORKLOADS:
        checkout = next((each for each in checkouts if knows(each, workload.format)), None)
        if checkout is None:
            print(f"{workload.name} is left out: no checkout knows {workload.format}.", flush=True)
            continue
        series = Series(workload, Dlio(python, checkout), folder / workload.name, steps or workload.steps)
        try:
            runs += measure_one(series, repeats)
        except (PredictionError, RuntimeError, OSError, subprocess.SubprocessError) as error:
            print(f"{workload.name} did not run: {str(error)[-300:]}", flush=True)
    (folder / "dlio.json").write_text(json.dumps([asdict(run) for run in runs], indent=1))
    print(f"{own_table(runs)}\n\n{prediction_table(runs)}", flush=True)


def measure_one(series: Series, repeats: int) -> list[Run]:
    """One run a setting against a service of its own, then the repeats in turn."""
    series.make_data()
    runs = [recorded_run(series, read_threads) for read_threads in READ_THREADS]
    with service_of_its_own("dlio") as service:
        for _ in range(repeats - 1):
            runs = [replace(run, own=(*run.own, series.train(run.read_threads, service))) for run in runs]
    return runs


def recorded_run(series: Series, read_threads: int) -> Run:
    with tempfile.TemporaryDirectory(prefix="dlio-") as place:
        with RealService(Path(place), "dlio") as service:
            own = series.train(read_threads, service)
            run_id = service.finished_run()["run_id"]
            diagnosis = service.diagnosis(run_id)
        store = Store(f"sqlite:///{service.database}")
        try:
            facts = read_facts(store, run_id, named(diagnosis["loader"]))
        finally:
            store.close()
    rank = slow_ranks(facts.ranks).judged
    found = predicted(facts, [threads for threads in READ_THREADS if threads != read_threads])
    return Run(series.workload.name, read_threads, (own,), diagnosis, rank.data_wait_us / 1e6, found)


def predicted(facts: RunFacts, read_threads: Sequence[int]) -> dict[int, Predicted]:
    """By each of ``read_threads``."""
    rank = slow_ranks(facts.ranks).judged
    assert facts.loader is not None
    predictor = make_predictor(rank, facts.loader, facts.host, place=storage_place(facts, rank))
    settings = {threads: SimulatedSetting(threads, PREFETCHED, persistent_workers=True) for threads in read_threads}
    return {threads: Predicted.of(predictor.predict(setting)) for threads, setting in settings.items()}


OWN_HEAD = (
    "workload",
    "`read_threads`",
    "stall",
    "its 1 − AU",
    "wait a step",
    "its `load`",
    "causes",
    "first advice",
)


def own_table(runs: Sequence[Run]) -> str:
    """What is said of each run beside what DLIO says of itself."""
    return table(OWN_HEAD, [_own_row(run) for run in runs])


def _own_row(run: Run) -> list[str]:
    diagnosis, own = run.diagnosis, run.own[0]
    stall, advice = diagnosis["data_stall_fraction"], diagnosis["advice"]
    return [
        run.workload,
        str(run.read_threads),
        "–" if stall is None else f"{stall:.1%}",
        f"{1 - own.au:.1%}",
        f"{run.data_wait_s * 1e3:.1f} ms",
        f"{own.load_s * 1e3:.1f} ms",
        "; ".join(f"{found['cause']} {found['cost_fraction']:.0%}" for found in diagnosis["causes"]) or "none",
        advised(advice[0]) if advice else "none",
    ]


PREDICTION_HEAD = ("workload", "from", "to", "predicted", "its own throughput", "inside")


def prediction_table(runs: Sequence[Run]) -> str:
    """Each setting predicted from each other one of its workload, beside what DLIO says it gained."""
    pairs = [(source, target) for source, target in permutations(runs, 2) if source.workload == target.workload]
    return table(PREDICTION_HEAD, [_prediction_row(source, target) for source, target in pairs])


def _prediction_row(source: Run, target: Run) -> list[str]:
    found = source.predicted[target.read_threads]
    gain = target.samples_per_s / source.samples_per_s
    return [
        source.workload,
        str(source.read_threads),
        str(target.read_threads),
        f"{found.speedup:.2f}× ({found.low:.2f}–{found.high:.2f})",
        f"{gain:.2f}×",
        answer(found.low <= gain <= found.high),
    ]
