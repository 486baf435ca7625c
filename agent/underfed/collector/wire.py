"""The window as docs/wire.md has it: what the collector posts, the spool holds and the service accepts.

``None`` is "not measured" and is left out of the JSON, where an absent key means the same.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from underfed.exchange.facts import End, LoaderFacts, RunFacts
from underfed.exchange.stacks import StackCounts
from underfed.exchange.switch import Switch
from underfed.exchange.tuning import TuningFacts
from underfed.host.handover import Handover

VERSION = 1
STEPS = 4096
BATCHES = 16384
"""Most that one window may hold."""

LONGEST_US = 2**32 - 2
"""Longest duration in a column, 71 minutes."""

COMPRESSION = 5
"""gzip level: 9 saves 2 % more of such a window and costs twice the time."""


@dataclass(frozen=True, slots=True)
class HostFacts:
    cpu_model: str | None = None
    cpu_count: int | None = None
    allowed_cpus: int | None = None
    quota_cores: float | None = None
    usable_cores: float | None = None
    memory_total_bytes: int | None = None
    memory_limit_bytes: int | None = None
    memory_available_bytes: int | None = None
    swap_total_bytes: int | None = None
    shm_total_bytes: int | None = None
    shm_free_bytes: int | None = None
    open_files_limit: int | None = None
    numa_nodes: int | None = None
    gpu_driver: str | None = None
    """Version of NVIDIA's."""
    cpu_slowdown: list[tuple[float, float]] | None = None
    memory_slowdown: list[tuple[float, float]] | None = None
    memory_bytes_per_s: float | None = None
    handover: Handover | None = None


@dataclass(frozen=True, slots=True)
class Device:
    gpu_index: int
    uuid: str | None
    name: str
    memory_total_bytes: int | None


@dataclass(frozen=True, slots=True)
class Steps:
    """Consecutive steps of one epoch, no pause between them."""

    loader: str
    epoch_index: int
    first_step_index: int
    first_batch_index: int
    start_us: int
    step_us: list[int | None]
    data_wait_us: list[int]
    queue_depth: list[int] | None
    batch_index: list[int] | None
    sampler_us: list[int] | None = None
    gpu_idle_us: list[int | None] | None = None
    gpu_work_us: list[int | None] | None = None
    h2d_us: list[int | None] | None = None
    h2d_exposed_us: list[int | None] | None = None


@dataclass(frozen=True, slots=True)
class Batches:
    loader: str
    epoch_index: int
    batch_index: list[int]
    worker: list[int] | None
    start_us: list[int]
    load_us: list[int]
    cpu_us: list[int | None] | None
    process_cpu_us: list[int | None] | None
    runqueue_us: list[int | None] | None
    blocked_us: list[int | None] | None
    collate_us: list[int | None] | None
    asked_bytes: list[int | None] | None
    read_bytes: list[int | None] | None
    samples: list[int | None] | None
    received_us: list[int] | None
    pin_us: list[int] | None = None


@dataclass(frozen=True, slots=True)
class Epoch:
    loader: str
    epoch_index: int
    start_us: int
    iterator_us: int | None
    startup_us: int | None
    first_step_index: int
    steps: int | None
    end_us: int | None
    ended: str | None
    ending_us: int | None = None
    sampler_us: int | None = None
    grad_enabled: bool | None = None
    graph_built: bool | None = None
    in_background: bool | None = None
    program_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker process of one iterator. ``ended``: ``returned``, ``raised`` or ``died``.

    Both ``end_us`` and ``ended`` ``None``: it runs. ``end_us`` alone: it ended with the training process, or this
    stopped it.
    """

    loader: str
    epoch_index: int | None
    iterator_index: int
    worker: int
    pid: int
    start_us: int | None
    end_us: int | None = None
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class Storage:
    """A mount in which files of a loader's data lie."""

    loader: str
    mount: str
    file_system: str
    device: str | None
    kind: str
    files_seen: int
    example: str


@dataclass(frozen=True, slots=True)
class Losses:
    """Cumulative for the incarnation."""

    dropped_steps: int = 0
    dropped_batches: int = 0
    dropped_windows: int = 0
    rejected_windows: int = 0
    agent_errors: int = 0


@dataclass(frozen=True, slots=True)
class HostPart:
    """What the collector found about the host that a rank runs on."""

    facts: HostFacts
    devices: list[Device]
    not_measured: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RunPart:
    facts: RunFacts
    host: HostPart


@dataclass(frozen=True, slots=True)
class Stacks:
    """What a loader's workers were seen to execute since the incarnation began. Replaces what was sent before."""

    loader: str
    counts: StackCounts


SampleColumns = Mapping[str, list[Any]]
"""Equally long; ``at_us`` is one of them."""


@dataclass(frozen=True, slots=True)
class GpuSamples:
    gpu_index: int
    columns: SampleColumns


@dataclass(frozen=True, slots=True)
class WorkerSamples:
    loader: str
    worker: int
    columns: SampleColumns


@dataclass(frozen=True, slots=True)
class Window:
    run_id: str
    rank: int
    incarnation: int
    window_index: int
    previous_window_index: int | None
    started_at: str
    start_us: int
    end_us: int
    run: RunPart | None = None
    loaders: list[LoaderFacts] = field(default_factory=list)
    steps: list[Steps] = field(default_factory=list)
    batches: list[Batches] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)
    worker_samples: list[WorkerSamples] = field(default_factory=list)
    storage: list[Storage] = field(default_factory=list)
    stacks: list[Stacks] = field(default_factory=list)
    tuning: list[TuningFacts] = field(default_factory=list)
    switch: Switch | None = None
    process: SampleColumns | None = None
    host: SampleColumns | None = None
    gpus: list[GpuSamples] = field(default_factory=list)
    losses: Losses = field(default_factory=Losses)
    overhead_us: float | None = None
    end: End | None = None


def encode_window(window: Window) -> bytes:
    """The gzipped body of a post."""
    body = {"version": VERSION, **as_json(window)}
    return gzip.compress(json.dumps(body, separators=(",", ":")).encode(), COMPRESSION, mtime=0)


def decode_window(body: bytes) -> dict[str, Any]:
    """The JSON object of an encoded window."""
    window: dict[str, Any] = json.loads(gzip.decompress(body))
    return window


def with_previous(body: bytes, previous_window_index: int | None) -> bytes:
    """The same window with another predecessor: the windows between them were dropped here."""
    window = {**decode_window(body), "previous_window_index": previous_window_index}
    return gzip.compress(json.dumps(window, separators=(",", ":")).encode(), COMPRESSION, mtime=0)


def as_json(part: Any) -> Any:
    """A dataclass as the object it is on the wire: without what was not measured, a run's facts beside its host, and
    columns and counts beside what they are of."""
    if isinstance(part, RunPart):
        return {
            **as_json(part.facts),
            "host": as_json(part.host.facts),
            "devices": as_json(part.host.devices),
            "not_measured": {**part.facts.not_measured, **part.host.not_measured},
        }
    if is_dataclass(part) and not isinstance(part, type):
        # All here have slots; asking ``fields()`` takes twice the time of everything else.
        values = ((name, getattr(part, name)) for name in part.__slots__)  # type: ignore[attr-defined]
        named = {name: as_json(value) for name, value in values if value is not None}
        beside = named.pop("columns", {}) | named.pop("counts", {})
        return named | beside
    if isinstance(part, list) and part and is_dataclass(part[0]):
        return [as_json(item) for item in part]
    if isinstance(part, dict):
        return {name: as_json(value) for name, value in part.items()}
    return part
