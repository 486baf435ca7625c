"""The windows of one rank of a job, as its agent would have posted them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from zlib import crc32

from tests.fakes.gallery.job import GIB, Job, Machine
from tests.fakes.gallery.loop import Loop, Pace, Step
from tests.fakes.gallery.stacks import stacks, why_not_sampled

LOADER = "train"

NO_QUEUE = {"queue_depth": "without workers no batch is loaded ahead, so none can be ready"}
NO_GPU = {
    **dict.fromkeys(("gpu_util_fraction", "gpu_driver"), "no NVIDIA driver here: NVML was not found"),
    **dict.fromkeys(
        ("cuda_version", "hip_version", "cudnn_version"), "this PyTorch is built without CUDA and without ROCm"
    ),
}
STEPS_A_WINDOW = 200
SAMPLE_BYTES = 110_000


def windows(job: Job, rank: int, started_at: datetime) -> Iterator[dict[str, Any]]:
    """In order; the last one ends the rank, where the job has ended."""
    return _Rank(job, rank, started_at).windows()


def length_s(job: Job) -> float:
    """How long the job's first rank trains."""
    loop = Loop(random.Random(_seed(job, 0)))
    for steps, pace in job.phases:
        for _ in loop.epoch(pace, steps):
            pass
    return loop.now / 1e3


def _seed(job: Job, rank: int) -> int:
    return crc32(f"{job.run_id} {rank}".encode())


class _Rank:
    def __init__(self, job: Job, rank: int, started_at: datetime) -> None:
        self._job = job
        self._rank = rank
        self._started_at = started_at
        self._figures = random.Random(_seed(job, rank))
        self._loop = Loop(self._figures)
        self._machine: Machine = job.machines[rank // job.ranks_a_host]
        self._local = rank % job.ranks_a_host
        self._index = 0
        self._us = 0
        self._first_step = 0

    def windows(self) -> Iterator[dict[str, Any]]:
        phases = self._job.paces_of_ranks.get(self._rank, self._job.phases)
        yield self._window(0, run=self._run(), loaders=self._loaders(), storage=self._storage())
        for epoch, (steps, pace) in enumerate(phases):
            yield from self._epoch(epoch, steps, pace, is_last=epoch == len(phases) - 1)
        if self._job.end is not None:
            yield self._window(self._us, end=dict(self._job.end))

    def _epoch(self, epoch: int, count: int, pace: Pace, *, is_last: bool) -> Iterator[dict[str, Any]]:
        begun_us, first = self._us, self._first_step
        steps: list[Step] = []
        for step in self._loop.epoch(pace, count):
            steps.append(step)
            if len(steps) == STEPS_A_WINDOW:
                yield self._recorded(epoch, begun_us, first, pace, steps)
                steps = []
        ended = {"steps": count, "end_us": _us(self._loop.now), "ended": "exhausted"}
        info = self._epoch_info(epoch, begun_us, first, pace) | ({} if is_last else ended)
        beside: dict[str, Any] = {"epochs": [info]}
        if is_last and self._job.died:
            beside["workers"] = [self._died(epoch, worker, begun_us) for worker in (1, 3)]
        if is_last:
            beside["stacks"] = stacks(self._job, LOADER, random.Random(_seed(self._job, self._rank)))
        if steps:
            yield self._recorded(epoch, begun_us, first, pace, steps) | beside
        else:
            yield self._window(self._us, **beside)

    def _epoch_info(self, epoch: int, begun_us: int, first: int, pace: Pace) -> dict[str, Any]:
        return {
            "loader": LOADER,
            "epoch_index": epoch,
            "start_us": begun_us,
            "iterator_us": 900,
            "startup_us": _us(pace.startup_ms),
            "first_step_index": first,
        }

    def _died(self, epoch: int, worker: int, begun_us: int) -> dict[str, Any]:
        return {
            "loader": LOADER,
            "iterator_index": epoch,
            "worker": worker,
            "epoch_index": epoch,
            "pid": 4_000 + worker,
            "start_us": begun_us,
            "end_us": self._us,
            "ended": "died",
        }

    def _recorded(self, epoch: int, begun_us: int, first: int, pace: Pace, steps: Sequence[Step]) -> dict[str, Any]:
        start_us, end_us = self._us, _us(self._loop.now)
        window = self._window(end_us, steps=[self._steps(epoch, pace, steps)], batches=[self._batches(epoch, steps)])
        if self._first_step == first:
            window["epochs"] = [self._epoch_info(epoch, begun_us, first, pace)]
        self._first_step += len(steps)
        waited = sum(step.wait for step in steps) / sum(step.whole for step in steps)
        return window | self._samples(start_us, end_us, pace, waited)

    def _window(self, end_us: int, **content: Any) -> dict[str, Any]:
        window = {
            "version": 1,
            "run_id": self._job.run_id,
            "rank": self._rank,
            "incarnation": 1,
            "window_index": self._index,
            "previous_window_index": self._index - 1 if self._index else None,
            "started_at": self._started_at.isoformat(),
            "start_us": self._us,
            "end_us": end_us,
            "overhead_us": round(self._figures.uniform(2, 4), 2),
        }
        self._index += 1
        self._us = end_us
        return window | content

    def _steps(self, epoch: int, pace: Pace, steps: Sequence[Step]) -> dict[str, Any]:
        ends = [_us(step.start + step.whole) for step in steps]
        starts = [_us(steps[0].start), *ends[:-1]]
        waits = [_us(step.wait) for step in steps]
        columns: dict[str, Any] = {
            "loader": LOADER,
            "epoch_index": epoch,
            "first_step_index": self._first_step,
            "first_batch_index": steps[0].batch.index,
            "start_us": starts[0],
            "step_us": [end - start for start, end in zip(starts, ends, strict=True)],
            "data_wait_us": waits,
            "queue_depth": [step.ready for step in steps],
            "sampler_us": [_us(pace.sampler_ms)] * len(steps),
        }
        if self._job.has_gpu:
            columns |= self._device_columns(pace, steps, waits)
        return columns

    def _device_columns(self, pace: Pace, steps: Sequence[Step], waits: Sequence[int]) -> dict[str, Any]:
        """The device still works on the step before while the loop already waits: it idles a little less."""
        columns: dict[str, Any] = {
            "gpu_idle_us": [max(0, wait - 900) for wait in waits],
            "gpu_work_us": [_us(pace.work_ms)] * len(steps),
        }
        if pace.copy_ms is not None:
            columns["h2d_us"] = [_us(pace.copy_ms)] * len(steps)
            columns["h2d_exposed_us"] = [_us(pace.exposed_ms or 0.0)] * len(steps)
        return columns

    def _batches(self, epoch: int, steps: Sequence[Step]) -> dict[str, Any]:
        batches = [step.batch for step in steps]
        parts = [tuple(_us(each) for each in (batch.cpu, batch.runqueue, batch.blocked)) for batch in batches]
        asked = self._job.batch_size * SAMPLE_BYTES
        return {
            "loader": LOADER,
            "epoch_index": epoch,
            "batch_index": [batch.index for batch in batches],
            "worker": [batch.worker for batch in batches] if batches[0].worker is not None else None,
            "start_us": [_us(batch.start) for batch in batches],
            "load_us": [sum(each) for each in parts],
            "cpu_us": [each[0] for each in parts],
            "process_cpu_us": [each[0] + 700 for each in parts],
            "runqueue_us": [each[1] for each in parts],
            "blocked_us": [each[2] for each in parts],
            "collate_us": [min(_us(batch.collate), sum(each)) for batch, each in zip(batches, parts, strict=True)],
            "asked_bytes": [asked] * len(batches),
            "read_bytes": [int(asked * self._job.read_share)] * len(batches),
            "samples": [self._job.batch_size] * len(batches),
            "received_us": [_us(batch.received) for batch in batches],
        }

    def _samples(self, start_us: int, end_us: int, pace: Pace, waited: float) -> dict[str, Any]:
        at_us = list(range(start_us, end_us, max(1_000_000, (end_us - start_us) // 20)))
        vary = self._figures.gauss
        samples: dict[str, Any] = {
            "process": {
                "at_us": at_us,
                "main_cpu_us": [each // 3 for each in at_us],
                "process_cpu_us": [each // 2 for each in at_us],
                "workers_cpu_us": [int(each * 0.9 * pace.num_workers) for each in at_us],
                "rss_bytes": [int(vary(9, 0.002) * GIB) for _ in at_us],
                "workers_rss_bytes": [int(vary(4, 0.002) * GIB * max(1, pace.num_workers)) for _ in at_us],
                "threads": [64] * len(at_us),
                "open_files": [312] * len(at_us),
            }
        }
        if self._local == 0:
            samples["host"] = self._host(at_us)
            samples["gpus"] = self._gpus(at_us, waited, pace)
        return samples

    def _host(self, at_us: Sequence[int]) -> dict[str, Any]:
        vary = self._figures.gauss
        memory, shm = self._machine.memory_gib * GIB, self._machine.shm_gib * GIB
        most = float(self._machine.cores)
        read_per_us = 1_400 * self._job.read_share + 6
        is_far = self._job.mount is not None and self._job.mount["kind"] == "network"
        moved = {
            "disk_read_bytes": 4 if is_far else read_per_us,
            "disk_written_bytes": 11,
            "network_received_bytes": read_per_us if is_far else 2,
            "network_sent_bytes": 24 if self._job.ranks_a_host > 1 else 1,
        }
        return {
            "at_us": list(at_us),
            **{name: [int(each * per_us) for each in at_us] for name, per_us in moved.items()},
            "busy_cores": [round(min(most, max(0.2, vary(self._job.busy_cores, most / 80))), 2) for _ in at_us],
            "memory_available_bytes": [int(memory * min(0.98, max(0.02, vary(0.7, 0.0002)))) for _ in at_us],
            "swap_used_bytes": [0] * len(at_us),
            "shm_free_bytes": [int(shm * min(0.99, max(0.02, vary(0.9, 0.0002)))) for _ in at_us],
            "io_pressure_us": [each // (8 if self._job.read_share else 200) for each in at_us],
            "cpu_pressure_us": [each // (3 if self._job.busy_cores > 0.85 * most else 100) for each in at_us],
        }

    def _gpus(self, at_us: Sequence[int], waited: float, pace: Pace) -> list[dict[str, Any]]:
        idle = waited + pace.program_ms / (pace.work_ms + pace.program_ms)
        busy = [round(min(1.0, max(0.0, self._figures.gauss(1 - 0.85 * idle, 0.02))), 3) for _ in at_us]
        count = self._job.ranks_a_host if self._job.has_gpu else 0
        memory = [int(54.3 * GIB)] * len(at_us)
        sampled = {"at_us": list(at_us), "util_fraction": busy, "memory_used_bytes": memory}
        return [
            {"gpu_index": index, **sampled, "power_w": [round(120 + 250 * each, 1) for each in busy]}
            for index in range(count)
        ]

    def _run(self) -> dict[str, Any]:
        job, machine = self._job, self._machine
        command = ["python", "train.py", f"--config=configs/{job.name}.yaml"]
        known = {
            "project": job.project,
            "name": job.name,
            "job": f"{job.project}/{job.name}",
            "user": job.user,
            "hostname": machine.hostname,
            "command": ["torchrun", f"--nproc_per_node={job.ranks_a_host}", *command[1:]],
            "script": "train.py",
            "pid": 4_000 + self._rank,
            "rank": self._rank,
            "local_rank": self._local,
            "node_rank": self._rank // job.ranks_a_host,
            "world_size": job.ranks_a_host * len(job.machines),
            "launcher": "torchrun" if job.ranks_a_host > 1 else None,
            "agent_version": "0.1.0",
            "python_version": "3.11.7",
            "torch_version": "2.13.0+cu130" if machine.gpu else "2.13.0+cpu",
            "cuda_version": "13.0" if machine.gpu else None,
            "cudnn_version": "9.20.0" if machine.gpu else None,
            "started_by": "run",
            "tags": dict(job.tags),
            "config": {"lr": 0.0003, "seed": 7, "amp": "bf16"},
            "not_measured": ({} if machine.gpu else NO_GPU) | why_not_sampled(job),
        }
        if self._local == 0:
            known |= {"host": machine.facts(), "devices": machine.devices()[: job.ranks_a_host]}
        return known | {key: value for key, value in job.run.items() if key != "run_id"}

    def _loaders(self) -> list[dict[str, Any]]:
        job, pace = self._job, self._job.first_pace()
        if not job.phases:
            return []
        settings = {
            "num_workers": pace.num_workers,
            "prefetch_factor": pace.prefetch_factor if pace.num_workers else None,
            "batch_size": job.batch_size,
            "pin_memory": False,
            "persistent_workers": False,
            "in_order": True,
            "drop_last": True,
            "timeout_s": 0.0,
            "multiprocessing_context": "fork",
            "sharing_strategy": "file_descriptor",
        }
        known = {
            "loader": LOADER,
            "settings": settings | dict(job.settings),
            "dataset_type": "ImageFolder",
            "dataset_kind": "map",
            "dataset_length": 1_281_167,
            "batches_per_epoch": job.phases[0][0],
            "sampler_type": "DistributedSampler" if job.ranks_a_host > 1 else "RandomSampler",
            "collate_type": "default_collate",
            "transforms": ["RandomResizedCrop", "RandAugment", "ToTensor", "Normalize"],
            "watched_at": "train.py:118",
            "batch_tensors": 2,
            "batch_bytes": job.batch_size * 3 * 224 * 224,
            "not_measured": {} if pace.num_workers else NO_QUEUE,
        }
        return [known | dict(job.loader)]

    def _storage(self) -> list[dict[str, Any]]:
        mount = self._job.mount
        return [] if mount is None else [{"loader": LOADER, "files_seen": 812} | dict(mount)]


def _us(milliseconds: float) -> int:
    return round(milliseconds * 1_000)
