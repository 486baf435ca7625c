"""What a run ran on, in a few lines below its diagnosis: workers, memory, where the data lies, how it was launched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from underfed_server import figures
from underfed_server.model import Diagnosis, DiedWorker, Run, StoragePlace, WorkerInfo, WorkersPage
from underfed_server.terminal.rendering import LOUD, WAIT, named_values, render_diagnosis

KINDS = {
    "nvme": "NVMe", "ssd": "SSD", "hdd": "hard disk", "network": "network", "memory": "in memory",
    "overlay": "container layer",
}  # fmt: skip


def render_run(diagnosis: Diagnosis, run: Run, page: WorkersPage) -> RenderableType:
    """Workers that died come first: no verdict explains them."""
    parts: list[RenderableType] = [Text(f"✗ {_death(one)}", f"bold {WAIT}") for one in run.died_workers]
    parts += ["", render_diagnosis(diagnosis)] if parts else [render_diagnosis(diagnosis)]
    surroundings = _surroundings(run, page)
    return Group(*parts, "", surroundings) if surroundings else Group(*parts)


def _surroundings(run: Run, page: WorkersPage) -> RenderableType | None:
    rows = [*_workers(page.workers), *_times(run, page), *_places(run.storage), *_launch(run)]
    if not rows:
        return None
    return Group(Text("What it ran on", LOUD), Padding(named_values(rows, justify="left"), (0, 0, 0, 2)))


def _death(one: DiedWorker) -> str:
    process = "" if one.pid is None else f" (process {one.pid})"
    rank = f" on rank {one.rank}" if one.rank else ""
    when = "" if one.end_us is None else f" {figures.duration(one.end_us)} into the run"
    epoch = "" if one.epoch_index is None else f", in epoch {one.epoch_index}"
    return f"Worker {one.worker} of {one.loader}{rank} died{process}{when}{epoch}."


def _workers(workers: Sequence[WorkerInfo]) -> Iterator[tuple[str, str]]:
    sampled = [worker for worker in workers if worker.rss_bytes is not None]
    if sampled:
        own = [worker.pss_bytes for worker in sampled if worker.pss_bytes is not None]
        parts = [f"{figures.span([worker.rss_bytes for worker in sampled], figures.size)} resident"]
        parts += [f"{figures.span(own, figures.size)} of it not shared"] if own else []
        threads = [worker.threads for worker in sampled if worker.threads is not None]
        parts += [f"{figures.span(threads, figures.amount)} threads"] if threads else []
        yield "Each worker", ", ".join(parts)
    for worker in sampled:
        if worker.is_growing:
            yield f"Worker {worker.worker}", f"grows by {figures.size(_growth(worker))} an hour"


def _growth(worker: WorkerInfo) -> float:
    return max(worker.rss_bytes_per_hour or 0.0, worker.pss_bytes_per_hour or 0.0)


def _times(run: Run, page: WorkersPage) -> Iterator[tuple[str, str]]:
    startups = [epoch.sampler_us for epoch in run.epochs if epoch.loader == page.loader and epoch.sampler_us]
    if startups:
        yield "Sampler", f"{figures.duration(startups[-1])} when the newest epoch began"
    if page.pin_us_p50 is not None:
        yield "Pinning a batch", f"{figures.duration(page.pin_us_p50)}, in a thread of the training process"


def _places(places: Sequence[StoragePlace]) -> Iterator[tuple[str, str]]:
    for place in sorted(places, key=lambda place: -place.files_seen):
        medium = " on ".join(filter(None, (KINDS.get(place.kind), place.device)))
        what = ", ".join(filter(None, (place.file_system, medium)))
        files = f"{place.files_seen:,} file{'' if place.files_seen == 1 else 's'} seen"
        yield f"Data of {place.loader}", f"{place.mount} ({what}), {files}" if what else f"{place.mount}, {files}"


def _launch(run: Run) -> Iterator[tuple[str, str]]:
    restarts = run.restart_count or 0
    again = "" if not restarts else "restarted once" if restarts == 1 else f"restarted {restarts} times"
    if run.launcher or again:
        yield "Launched", ", ".join(filter(None, (f"by {run.launcher}" if run.launcher else "", again)))
    scheduled = ", ".join(_scheduled(run))
    if scheduled:
        yield "Scheduled", f"as {scheduled}"


def _scheduled(run: Run) -> Iterator[str]:
    if run.slurm_job_id:
        yield f"SLURM job {run.slurm_job_id}"
    if run.train_job:
        yield f"train job {run.train_job}"
    if run.pods:
        yield f"pod {run.pods[0]}" if len(run.pods) == 1 else f"{len(run.pods)} pods from {run.pods[0]} on"
    if run.namespace:
        yield f"namespace {run.namespace}"
    if run.queue:
        yield f"queue {run.queue}"
