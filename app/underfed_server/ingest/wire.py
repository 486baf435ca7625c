"""The wire format, version 1 (docs/wire.md), as types: what decodes into them is what the store can keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, cast

from msgspec import Meta, Struct, defstruct

from underfed_server.measurements import RECORDED, ValueKind

VERSION = 1
LARGEST = 2**53
"""Every integer is exact as a float64 up to here, in JavaScript too."""

LONGEST_US = 2**32 - 2
"""In a column; 2^32 − 1 is the store's "not measured". 71 minutes: no step is longer."""

MOST_STEPS = 4_096
MOST_BATCHES = 16_384
MOST_ENTRIES = 10_000

Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Duration = Annotated[int, Meta(ge=0, le=LONGEST_US)]
Amount = Annotated[float, Meta(ge=0, le=1e15)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Instant = Annotated[datetime, Meta(tz=True)]
RunId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
Name = Annotated[str, Meta(max_length=500)]
LoaderName = Annotated[str, Meta(min_length=1, max_length=500)]
Text = Annotated[str, Meta(max_length=10_000)]
Value = Union[bool, Annotated[int, Meta(ge=-LARGEST, le=LARGEST)], float, Text, None]  # noqa: UP007 msgspec reads it at run time, on Python 3.10 too
Reasons = Annotated[dict[Name, Text], Meta(max_length=MOST_ENTRIES)]
Texts = Annotated[list[Text], Meta(max_length=MOST_ENTRIES)]

Counts = list[Count]
Durations = list[Duration]
OptionalDurations = list[Duration | None]
OptionalCounts = list[Count | None]
COLUMNS: Mapping[ValueKind, Any] = {
    "index": OptionalCounts,
    "instant": OptionalCounts,
    "duration": OptionalDurations,
    "count": OptionalCounts,
    "amount": list[Amount | None],
    "fraction": list[Fraction | None],
    "flag": list[bool | None],
    "total": OptionalCounts,
}
"""By what it has in it."""


class Part(Struct, frozen=True, gc=False):
    """Unknown keys are ignored, so version 1 can grow."""


class Rows(Part, frozen=True):
    """Columns of one length, a row for each of their values."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> list[Any] | None:
            """One that :func:`with_columns` added."""


R = TypeVar("R", bound=Rows)


def with_columns(lane_kind: str) -> Callable[[type[R]], type[R]]:
    """Add the columns of a lane that the class does not name itself: each may be null, or left out."""

    def add(part: type[R]) -> type[R]:
        columns = [
            (name, COLUMNS[each.kind] | None, None)
            for name, each in RECORDED[lane_kind].items()
            if each.is_sent and name not in part.__struct_fields__
        ]
        added = defstruct(part.__name__, columns, bases=(part,), module=__name__, frozen=True, gc=False, kw_only=True)
        return cast(type[R], added)

    return add


class Handover(Part, frozen=True, kw_only=True):
    receive_us: Amount
    receive_wait_us: Amount
    tensor_us: Amount
    tensor_wait_us: Amount
    write_tensor_us: Amount
    write_mb_us: Amount
    free_mb_us: Amount


class HostFacts(Part, frozen=True, kw_only=True):
    cpu_model: Text | None = None
    cpu_count: Count | None = None
    allowed_cpus: Count | None = None
    quota_cores: Amount | None = None
    usable_cores: Amount | None = None
    memory_total_bytes: Count | None = None
    memory_limit_bytes: Count | None = None
    swap_total_bytes: Count | None = None
    shm_total_bytes: Count | None = None
    shm_free_bytes: Count | None = None
    memory_available_bytes: Count | None = None
    open_files_limit: Count | None = None
    numa_nodes: Count | None = None
    gpu_driver: Name | None = None
    cpu_slowdown: Annotated[list[tuple[Amount, Amount]], Meta(max_length=MOST_ENTRIES)] | None = None
    handover: Handover | None = None


class Device(Part, frozen=True, kw_only=True):
    gpu_index: Count
    name: Name
    uuid: Name | None = None
    memory_total_bytes: Count | None = None


class Replay(Part, frozen=True, kw_only=True):
    """What ``--replay`` measured."""

    batches: Count
    real_steps_per_s: Amount
    instant_steps_per_s: Amount


class Run(Part, frozen=True, kw_only=True):
    project: Name = ""
    name: Name = ""
    job: Text = ""
    user: Name | None = None
    hostname: Name | None = None
    command: Texts = []
    script: Text | None = None
    pid: Count | None = None
    rank: Count | None = None
    local_rank: Count | None = None
    node_rank: Count | None = None
    world_size: Annotated[int, Meta(ge=1, le=10_000_000)] = 1
    agent_version: Name | None = None
    python_version: Name | None = None
    torch_version: Name | None = None
    cuda_version: Name | None = None
    hip_version: Name | None = None
    cudnn_version: Name | None = None
    started_by: Name | None = None
    launcher: Name | None = None
    restart_count: Count | None = None
    tags: Annotated[dict[Name, Text], Meta(max_length=MOST_ENTRIES)] = {}
    config: Annotated[dict[Name, Value], Meta(max_length=MOST_ENTRIES)] = {}
    overrides: Annotated[dict[Name, Value], Meta(max_length=MOST_ENTRIES)] = {}
    advice_of: Name | None = None
    replay: Replay | None = None
    host: HostFacts | None = None
    devices: Annotated[list[Device], Meta(max_length=MOST_ENTRIES)] = []
    not_measured: Reasons = {}


class Loader(Part, frozen=True, kw_only=True):
    loader: LoaderName
    settings: Annotated[dict[Name, Value], Meta(max_length=MOST_ENTRIES)] = {}
    dataset_type: Text | None = None
    dataset_kind: Literal["map", "iterable"] | None = None
    dataset_length: Count | None = None
    batches_per_epoch: Count | None = None
    sampler_type: Text | None = None
    collate_type: Text | None = None
    transforms: Texts | None = None
    watched_at: Text | None = None
    batch_tensors: Count | None = None
    batch_bytes: Count | None = None
    shards: bool | None = None
    why_unsharded: Text | None = None
    compared_batches: Count | None = None
    repeated_batches: Count | None = None
    not_measured: Reasons = {}


@with_columns("steps")
class Steps(Rows, frozen=True, kw_only=True):
    loader: LoaderName
    epoch_index: Count
    first_step_index: Count
    first_batch_index: Count
    start_us: Count
    step_us: OptionalDurations
    data_wait_us: Durations


@with_columns("batches")
class Batches(Rows, frozen=True, kw_only=True):
    loader: LoaderName
    epoch_index: Count
    batch_index: Counts
    start_us: Counts
    load_us: Durations


class Epoch(Part, frozen=True, kw_only=True):
    loader: LoaderName
    epoch_index: Count
    start_us: Count
    first_step_index: Count
    iterator_us: Count | None = None
    startup_us: Count | None = None
    sampler_us: Count | None = None
    steps: Count | None = None
    end_us: Count | None = None
    ended: Literal["exhausted", "broken_off", "error"] | None = None


class Worker(Part, frozen=True, kw_only=True):
    """One life of a worker process: an iterator starts its own, unless they persist."""

    loader: LoaderName
    iterator_index: Count
    worker: Count
    start_us: Count | None = None
    pid: Count | None = None
    epoch_index: Count | None = None
    end_us: Count | None = None
    ended: Literal["returned", "raised", "died"] | None = None


@with_columns("worker")
class WorkerSamples(Rows, frozen=True, kw_only=True):
    loader: LoaderName
    worker: Count
    at_us: Counts = []


class Storage(Part, frozen=True, kw_only=True):
    """Where files of a loader's data set lie."""

    loader: LoaderName
    mount: Text
    file_system: Name | None = None
    device: Name | None = None
    kind: Literal["nvme", "ssd", "hdd", "network", "memory", "overlay", "unknown"] = "unknown"
    files_seen: Count = 0
    example: Text | None = None


@with_columns("process")
class ProcessSamples(Rows, frozen=True, kw_only=True):
    at_us: Counts = []


@with_columns("host")
class HostSamples(Rows, frozen=True, kw_only=True):
    at_us: Counts = []


@with_columns("gpu")
class GpuSamples(Rows, frozen=True, kw_only=True):
    gpu_index: Count
    at_us: Counts = []


class Losses(Part, frozen=True, kw_only=True):
    dropped_steps: Count = 0
    dropped_batches: Count = 0
    dropped_windows: Count = 0
    rejected_windows: Count = 0
    agent_errors: Count = 0


class End(Part, frozen=True, kw_only=True):
    status: Literal["finished", "crashed"]
    exit_reason: Annotated[str, Meta(max_length=2_000)] | None = None
    exit_code: Annotated[int, Meta(ge=-LARGEST, le=LARGEST)] | None = None


class Window(Part, frozen=True, kw_only=True):
    """All that one rank recorded in about one second."""

    version: Literal[1]
    run_id: RunId
    rank: Annotated[int, Meta(ge=0, le=10_000_000)]
    incarnation: Annotated[int, Meta(ge=1, le=LARGEST)]
    window_index: Count
    started_at: Instant
    start_us: Count
    end_us: Count
    previous_window_index: Count | None = None
    run: Run | None = None
    loaders: Annotated[list[Loader], Meta(max_length=1_000)] = []
    steps: Annotated[list[Steps], Meta(max_length=MOST_STEPS)] = []
    batches: Annotated[list[Batches], Meta(max_length=MOST_BATCHES)] = []
    epochs: Annotated[list[Epoch], Meta(max_length=MOST_ENTRIES)] = []
    workers: Annotated[list[Worker], Meta(max_length=MOST_ENTRIES)] = []
    worker_samples: Annotated[list[WorkerSamples], Meta(max_length=MOST_ENTRIES)] = []
    storage: Annotated[list[Storage], Meta(max_length=1_000)] = []
    process: ProcessSamples | None = None
    host: HostSamples | None = None
    gpus: Annotated[list[GpuSamples], Meta(max_length=1_000)] = []
    losses: Losses | None = None
    overhead_us: Annotated[float, Meta(ge=0, le=1e12)] | None = None
    end: End | None = None

    @property
    def step_count(self) -> int:
        return sum(len(part.step_us) for part in self.steps)
