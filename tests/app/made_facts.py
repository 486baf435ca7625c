"""Facts of made-up runs for rules and advice: a few plain numbers in, a complete record out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TypeVar

import numpy as np

from underfed_server.facts.record import HostShare, ProcessShare, RankFacts, RunFacts
from underfed_server.measurements import BatchRows, Column, StepRows
from underfed_server.model import EpochInfo, LoaderInfo, Status, StorageKind, StoragePlace

Made = TypeVar("Made", StepRows, BatchRows)

WARMUP_STEPS = 5


def made_run(
    *,
    wait_ms: float | Sequence[float] = 0.0,
    work_ms: float | Sequence[float] = 50.0,
    steps: int = 300,
    num_workers: int = 0,
    prefetch_factor: int | None = None,
    load_cpu_ms: float = 0.0,
    load_blocked_ms: float = 0.0,
    load_runqueue_ms: float = 0.0,
    load_ms: Sequence[float] | None = None,
    asked_bytes: float = 1e6,
    read_bytes: float = 0.0,
    usable_cores: float | None = 8.0,
    busy_cores: float | None = None,
    process_cores: float | None = None,
    workers_cores: float | None = None,
    uses_gpu: bool = False,
    gpu_idle_ms: float | Sequence[float] | None = None,
    gpu_work_ms: float | Sequence[float] | None = None,
    sampler_ms: float | None = None,
    pin_ms: float | None = None,
    queue_depth: float | None = None,
    cpu_slowdown: tuple[tuple[float, float], ...] | None = ((1.0, 1.0), (8.0, 1.0)),
    status: Status = "running",
    run_id: str = "made-1",
    is_iterable: bool = False,
    batch_bytes: int | None = 1_000_000,
    shm_free_bytes: int | None = 1_000_000_000,
    late_us: float = 1_500.0,
) -> RunFacts:
    """A run of one rank. Waits and works repeat over the steps; loads repeat over the batches, one batch a step.

    NaN among the milliseconds of the device: not timed in that step.
    """
    waits = _repeat(wait_ms, steps) * 1e3
    step_us = waits + _repeat(work_ms, steps) * 1e3
    ends = np.cumsum(step_us)
    number = np.arange(WARMUP_STEPS, WARMUP_STEPS + steps, dtype=np.float64)
    columns = made_rows(
        StepRows,
        steps,
        step_index=number,
        start_us=ends - step_us,
        step_us=step_us,
        data_wait_us=waits,
        queue_depth=_constant(queue_depth, steps),
        sampler_us=_constant(sampler_ms, steps) * 1e3,
        gpu_idle_us=_repeat(np.nan if gpu_idle_ms is None else gpu_idle_ms, steps) * 1e3,
        gpu_work_us=_repeat(np.nan if gpu_work_ms is None else gpu_work_ms, steps) * 1e3,
        epoch_index=np.zeros(steps),
        batch_index=number,
    )
    cpu, blocked, runqueue = (_repeat(ms, steps) * 1e3 for ms in (load_cpu_ms, load_blocked_ms, load_runqueue_ms))
    if load_ms is not None:
        blocked = _repeat(load_ms, steps) * 1e3
    load = cpu + blocked + runqueue
    workers = max(1, num_workers)
    batches = made_rows(
        BatchRows,
        steps,
        worker=np.arange(steps, dtype=np.float64) % workers if num_workers else np.full(steps, np.nan),
        epoch_index=np.zeros(steps),
        batch_index=number,
        start_us=ends - step_us,
        load_us=load,
        cpu_us=cpu,
        process_cpu_us=cpu,
        runqueue_us=runqueue,
        blocked_us=blocked,
        collate_us=load * 0.05,
        pin_us=_constant(pin_ms, steps) * 1e3,
        asked_bytes=_constant(asked_bytes, steps),
        read_bytes=_constant(read_bytes, steps),
        samples=_constant(32.0, steps),
        received_us=ends - step_us + load + late_us,
    )
    rank = RankFacts(
        rank=0,
        steps=columns,
        batches=batches,
        process=ProcessShare(
            main_cores=process_cores,
            main_runqueue_fraction=0.0,
            process_cores=process_cores,
            workers_cores=workers_cores,
            host_busy_cores=busy_cores,
        ),
        total_steps=steps + WARMUP_STEPS,
        total_step_us=float(np.sum(step_us)),
        total_data_wait_us=float(np.sum(waits)),
        total_stall_us=float(np.nansum(waits if gpu_idle_ms is None else columns.gpu_idle_us)),
        uses_gpu=uses_gpu,
    )
    factor = (prefetch_factor or 2) if num_workers else None
    known = {
        "loader": "train",
        "settings": {"num_workers": num_workers, "prefetch_factor": factor, "batch_size": 32},
        "dataset_kind": "iterable" if is_iterable else "map",
        "batch_tensors": 2,
        "batch_bytes": batch_bytes,
        "watched_at": "train.py:41",
        "not_measured": {},
    }
    of_host = {
        "hostname": "made",
        "usable_cores": usable_cores,
        "cpu_slowdown": cpu_slowdown,
        "shm_free_bytes": shm_free_bytes,
    }
    return RunFacts(
        run_id=run_id,
        status=status,
        loader=LoaderInfo.model_validate(dict.fromkeys(LoaderInfo.model_fields) | known),
        host=HostShare.model_validate(dict.fromkeys(HostShare.model_fields) | of_host),
        ranks=(rank,),
        warmup_steps=WARMUP_STEPS,
    )


def made_rows(kind: type[Made], length: int, **columns: Column) -> Made:
    """Columns that are not given were not measured, whichever the declaration has."""
    unknown = {each.name: _constant(None, length) for each in fields(kind)}
    return kind(**{**unknown, **columns})


def starved(**changes: object) -> RunFacts:
    """No workers, CPU-bound loading of 120 ms beside 50 ms of work: the demo's kind of run, on eight cores."""
    usual: dict[str, object] = {"wait_ms": 120.0, "load_cpu_ms": 120.0, "process_cores": 1.0, "busy_cores": 1.0}
    return made_run(**{**usual, **changes})  # type: ignore[arg-type]  # the keywords are made_run's own


def made_epoch(epoch_index: int, start_us: int = 0, **known: int | str | None) -> EpochInfo:
    unknown = dict.fromkeys(("iterator_us", "startup_us", "sampler_us", "steps", "end_us", "ended"))
    place = {"rank": 0, "loader": "train", "epoch_index": epoch_index, "start_us": start_us, "first_step_index": 0}
    return EpochInfo.model_validate({**unknown, **place, **known})


def made_place(kind: StorageKind, mount: str = "/data", **known: int | str | None) -> StoragePlace:
    usual = {"hostname": None, "file_system": "ext4", "device": None, "files_seen": 3, "example": None}
    return StoragePlace.model_validate({**usual, "loader": "train", "mount": mount, "kind": kind, **known})


def _repeat(values: float | Sequence[float], length: int) -> Column:
    return np.resize(np.atleast_1d(np.asarray(values, dtype=np.float64)), length)


def _constant(value: float | None, length: int) -> Column:
    return np.full(length, np.nan if value is None else value)
