"""Workloads of MLPerf Storage with sizes and times scaled down to a small machine, and how DLIO runs them."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.unseen.trial import RealService, recorded
from benchmarks.yardsticks.dlio_environment import Dlio
from underfed_server.diagnosis.thresholds import THRESHOLDS

PREFETCHED = 2
"""Batches a worker, as torch's own default; DLIO counts those of all workers together."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One of MLPerf Storage's, scaled down."""

    name: str
    format: str
    record_bytes: int
    batch_size: int
    computation_s: float
    steps: int
    samples_a_file: int = 1


WORKLOADS = (
    # Bytes by 256, time by 64.
    Workload("unet3d", "npz", 572_659, 7, 0.005, 240),
    # Batch and time by 4.
    Workload("retinanet", "jpeg", 322_957, 6, 0.012, 240),
    # Batch by 4, time by 64.
    Workload("flux", "parquet", 262_144, 12, 0.021, 240, samples_a_file=96),
)


@dataclass(frozen=True, slots=True)
class Own:
    """What DLIO says of one run."""

    au: float
    load_s: float
    """Mean over the steps after warm-up."""
    samples_per_s: float


@dataclass(frozen=True, slots=True)
class Series:
    """One workload with its data, to be run at several settings."""

    workload: Workload
    dlio: Dlio
    folder: Path
    steps: int

    @property
    def options(self) -> dict[str, object]:
        workload = self.workload
        samples = self.steps * workload.batch_size
        return {
            "model.name": workload.name,
            "workflow.evaluation": False,
            "dataset.format": workload.format,
            "dataset.data_folder": self.folder / "data",
            "dataset.num_files_train": samples // workload.samples_a_file,
            "dataset.num_files_eval": 0,
            "dataset.num_subfolders_train": 0,
            "dataset.num_subfolders_eval": 0,
            "dataset.num_samples_per_file": workload.samples_a_file,
            "dataset.record_length_bytes": workload.record_bytes,
            "reader.batch_size": workload.batch_size,
            "reader.pin_memory": False,
            "train.epochs": 1,
            "train.computation_time": workload.computation_s,
        }

    def make_data(self) -> None:
        output = self.folder / "made"
        output.mkdir(parents=True, exist_ok=True)
        generated = {"workflow.generate_data": True, "workflow.train": False}
        ended = subprocess.run(
            self.dlio.command({**self.options, **generated}, output),
            env={**os.environ, **self.dlio.variables},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode != 0:
            raise RuntimeError(f"its data could not be made: {ended.stderr}")

    def train(self, read_threads: int, service: RealService) -> Own:
        output = self.folder / f"trained-{read_threads}-{time.time_ns()}"
        reader = {"reader.read_threads": read_threads, "reader.prefetch_size": PREFETCHED * max(1, read_threads)}
        command = self.dlio.command({**self.options, **reader}, output)
        recorded(self.workload.name, command, service=service, **self.dlio.variables)
        return own_figures(output)


def own_figures(output: Path) -> Own:
    """Of a run of one epoch and one rank, from the files that DLIO writes at its end."""
    metric = json.loads((output / "summary.json").read_text())["metric"]
    (loads,) = json.loads((output / "0_output.json").read_text())["1"]["load"].values()
    return Own(
        au=metric["train_au_mean_percentage"] / 100,
        load_s=statistics.fmean(loads[THRESHOLDS.warmup_steps :]),
        samples_per_s=metric["train_throughput_mean_samples_per_second"],
    )
