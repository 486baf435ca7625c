"""The wire format, version 1 (docs/wire.md), as types: the store can keep whatever decodes into them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, cast, get_args

from msgspec import Meta, Struct, defstruct

from underfed_server import model
from underfed_server.measurements import RECORDED, ValueKind

VERSION = 1
LARGEST = 2**53
"""Every integer is exact as a float64 up to here, in JavaScript too."""

LONGEST_US = 2**32 - 2
"""Largest duration in a column, 71 minutes; 2^32 − 1 is the store's "not measured"."""

MOST_STEPS = 4_096
MOST_BATCHES = 16_384
MOST_ENTRIES = 10_000
MOST_SAMPLES = 16_384
"""Of all processes, hosts, workers and GPUs together; each is sampled about once a window."""

Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Side = Annotated[int, Meta(ge=1, le=10_000_000)]
"""Of a picture, in pixels."""
Duration = Annotated[int, Meta(ge=0, le=LONGEST_US)]
Amount = Annotated[float, Meta(ge=0, le=1e15)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Instant = Annotated[datetime, Meta(tz=True)]
RunId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
Name = Annotated[str, Meta(max_length=500)]
LoaderName = Annotated[str, Meta(min_length=1, max_length=500)]
Text = Annotated[str, Meta(max_length=10_000)]
Value = Union[bool, Annotated[int, Meta(ge=-LARGEST, le=LARGEST)], float, Text, None]  # noqa: UP007 msgspec reads it at run time, on Python 3.10 too
NamedValues = Annotated[dict[Name, Value], Meta(max_length=MOST_ENTRIES)]
Reasons = Annotated[dict[Name, Text], Meta(max_length=MOST_ENTRIES)]
Texts = Annotated[list[Text], Meta(max_length=MOST_ENTRIES)]

VALUES: Mapping[ValueKind, Any] = {
    "index": Count,
    "instant": Count,
    "duration": Duration,
    "count": Count,
    "amount": Amount,
    "fraction": Fraction,
    "flag": bool,
    "total": Count,
}
"""Type of a column's values by their kind."""

GROUPS = 16
"""Of bursts, in which looks are counted (``GROUPS`` of the agent's ``exchange/stacks.py``)."""

MOST_ROWS: Mapping[str, int] = {"steps": MOST_STEPS, "batches": MOST_BATCHES}
"""Of a lane in a window; of those that are not named, the limit on samples."""

OfSteps = Meta(max_length=MOST_STEPS)
OfBatches = Meta(max_length=MOST_BATCHES)
OfSamples = Meta(max_length=MOST_SAMPLES)

LIMITED: Mapping[Any, Any] = {
    int: Count,
    float: Amount,
    str: Text,
    list[str]: Texts,
    dict[str, int]: Annotated[dict[Name, Count], Meta(max_length=MOST_ENTRIES)],
    dict[str, model.Setting]: Annotated[dict[Name, Value], Meta(max_length=MOST_ENTRIES)],
}
"""Wire type of a fact by its type in the API."""


class Part(Struct, frozen=True, gc=False):
    """Unknown keys are ignored, so version 1 can grow."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A field that :func:`with_columns` or :func:`with_facts` added."""


class Rows(Part, frozen=True):
    """Columns of one length, a row for each of their values."""


P = TypeVar("P", bound=Part)


def with_columns(lane_kind: str) -> Callable[[type[P]], type[P]]:
    """Add the columns of a lane that the class does not name itself: each may be null, or left out."""
    limit = Meta(max_length=MOST_ROWS.get(lane_kind, MOST_SAMPLES))
    declared = {name: VALUES[each.kind] for name, each in RECORDED[lane_kind].items() if each.is_sent}
    return _with({name: _limited(value, limit) for name, value in declared.items()})


def _limited(value: Any, limit: Meta) -> Any:
    return Annotated[list[value | None], limit]


def with_facts(shape: type[model.Model], *, leave_out: Collection[str] = ()) -> Callable[[type[P]], type[P]]:
    """Add the optional fields of a model of the API, likewise."""
    kinds = {name: get_args(each.annotation) for name, each in shape.model_fields.items() if name not in leave_out}
    return _with({name: LIMITED.get(kind[0], kind[0]) for name, kind in kinds.items() if NoneType in kind})


def _with(fields: Mapping[str, Any]) -> Callable[[type[P]], type[P]]:
    def add(part: type[P]) -> type[P]:
        more = [(name, kind | None, None) for name, kind in fields.items() if name not in part.__struct_fields__]
        added = defstruct(part.__name__, more, bases=(part,), module=__name__, frozen=True, gc=False, kw_only=True)
        return cast(type[P], added)

    return add


class Handover(Part, frozen=True, kw_only=True):
    receive_us: Amount
    receive_wait_us: Amount
    tensor_us: Amount
    tensor_wait_us: Amount
    write_tensor_us: Amount
    write_mb_us: Amount
    free_mb_us: Amount


@with_facts(model.HostFacts, leave_out=("hostname",))
class HostFacts(Part, frozen=True, kw_only=True):
    cpu_slowdown: Annotated[list[tuple[Amount, Amount]], Meta(max_length=MOST_ENTRIES)] | None = None
    memory_slowdown: Annotated[list[tuple[Amount, Amount]], Meta(max_length=MOST_ENTRIES)] | None = None
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


class TrackerRun(Part, frozen=True, kw_only=True):
    """The same run in W&B, MLflow or TensorBoard."""

    tracker: Name
    run: Text
    url: Text | None = None


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
    slurm_job_id: Name | None = None
    namespace: Name | None = None
    pod: Name | None = None
    train_job: Name | None = None
    queue: Name | None = None
    tags: Annotated[dict[Name, Text], Meta(max_length=MOST_ENTRIES)] = {}
    config: NamedValues = {}
    overrides: NamedValues = {}
    advice_of: Name | None = None
    replay: Replay | None = None
    trackers: Annotated[list[TrackerRun], Meta(max_length=MOST_ENTRIES)] = []
    host: HostFacts | None = None
    devices: Annotated[list[Device], Meta(max_length=MOST_ENTRIES)] = []
    not_measured: Reasons = {}


@with_facts(model.LoaderInfo)
class Loader(Part, frozen=True, kw_only=True):
    loader: LoaderName
    settings: NamedValues = {}
    not_measured: Reasons = {}


@with_columns("steps")
class Steps(Rows, frozen=True, kw_only=True):
    loader: LoaderName
    epoch_index: Count
    first_step_index: Count
    first_batch_index: Count
    start_us: Count
    step_us: Annotated[list[Duration | None], OfSteps]
    data_wait_us: Annotated[list[Duration], OfSteps]


@with_columns("batches")
class Batches(Rows, frozen=True, kw_only=True):
    loader: LoaderName
    epoch_index: Count
    batch_index: Annotated[list[Count], OfBatches]
    start_us: Annotated[list[Count], OfBatches]
    load_us: Annotated[list[Duration], OfBatches]


@with_facts(model.EpochInfo)
class Epoch(Part, frozen=True, kw_only=True):
    loader: LoaderName
    epoch_index: Count
    start_us: Count
    first_step_index: Count


@with_facts(model.WorkerLife)
class Worker(Part, frozen=True, kw_only=True):
    """One life of a worker process: an iterator starts its own, unless they persist."""

    loader: LoaderName
    iterator_index: Count
    worker: Count


@with_columns("worker")
class WorkerSamples(Rows, frozen=True, kw_only=True):
    loader: LoaderName
    worker: Count
    at_us: Annotated[list[Count], OfSamples] = []


@with_facts(model.StoragePlace, leave_out=("hostname",))
class Storage(Part, frozen=True, kw_only=True):
    """Where files of a loader's data set lie."""

    loader: LoaderName
    mount: Text
    kind: Literal["nvme", "ssd", "hdd", "network", "memory", "overlay", "unknown"] = "unknown"
    files_seen: Count = 0


class Frame(Part, frozen=True, kw_only=True):
    """A place in code."""

    function: Name
    file: Name
    line: Count | None = None
    is_own: bool = False
    first_line: Count | None = None
    last_line: Count | None = None
    """Among which lines the time was spent that was found at ``line``; ``None``: in that line."""


class StackCount(Part, frozen=True, kw_only=True):
    """How often a stack was seen, by group of bursts. ``frames``: places in the loader's, the outermost first; none:
    any other stack."""

    stage: model.Stage
    frames: Annotated[list[Count], Meta(max_length=MOST_ENTRIES)] = []
    samples: Annotated[list[Count], Meta(min_length=GROUPS, max_length=GROUPS)]
    earlier: Annotated[list[Count], Meta(min_length=GROUPS, max_length=GROUPS)] | None = None
    """Of these, in about the first half of the time so far."""


class SlowSample(Part, frozen=True, kw_only=True):
    load_us: Count
    index: Count | None = None
    file: Name | None = None
    file_bytes: Count | None = None
    worker: Count | None = None
    cpu_us: Count | None = None
    runqueue_us: Count | None = None


class PictureSize(Part, frozen=True, kw_only=True):
    """From which size to which a picture was resized when somebody looked, in pixels, and how often that was seen."""

    decoded_width: Side
    decoded_height: Side
    used_width: Side
    used_height: Side
    count: Count


class Stacks(Part, frozen=True, kw_only=True):
    """What a loader's workers were seen to execute, since the incarnation began."""

    loader: LoaderName
    frames: Annotated[list[Frame], Meta(max_length=MOST_ENTRIES)] = []
    stacks: Annotated[list[StackCount], Meta(max_length=MOST_ENTRIES)] = []
    slow_samples: Annotated[list[SlowSample], Meta(max_length=MOST_ENTRIES)] = []
    picture_sizes: Annotated[list[PictureSize], Meta(max_length=MOST_ENTRIES)] = []
    agent_samples: Count = 0
    """Looks at the agent itself, which are in no stack."""


class TrialBlock(Part, frozen=True, kw_only=True):
    """Consecutive steps with the setting of a trial, those in which it started included."""

    first_step_index: Count
    steps: Count
    start_us: Count
    end_us: Count


class Trial(Part, frozen=True, kw_only=True):
    """One setting under measurement, in blocks that alternate with those of the search's other trials."""

    search: Count
    number: Count
    settings: NamedValues
    predicted_speedup: Amount | None = None
    predicted_low: Amount | None = None
    predicted_high: Amount | None = None
    steps: Count = 0
    """Those measured."""
    steps_per_s: Amount | None = None
    low: Amount | None = None
    high: Amount | None = None
    kept: bool = False
    reason: Text | None = None
    blocks: Annotated[list[TrialBlock], Meta(max_length=1_000)] = []


class Tuning(Part, frozen=True, kw_only=True):
    """How far ``--tune`` has come with a loader, in this incarnation."""

    loader: LoaderName
    status: model.SentTuningStatus
    reason: Text | None = None
    why_no_workers: Text | None = None
    """Why a data set that is loaded without workers is given none."""
    began_with: NamedValues = {}
    kept: NamedValues | None = None
    kept_from_step: Count | None = None
    speedup: Amount | None = None
    low: Amount | None = None
    high: Amount | None = None
    trial_steps: Count = 0
    trial_us: Count = 0
    gained_us: Count | None = None
    gained_low_us: Count | None = None
    gained_high_us: Count | None = None
    lost_us: Count = 0
    searches: Count = 0
    lines: Texts = []
    trials: Annotated[list[Trial], Meta(max_length=1_000)] = []


class SwitchPlan(Part, frozen=True, kw_only=True):
    """What all hosts are to switch to, and at which step."""

    number: Count
    """Larger than that of any earlier one of the run."""
    step: Count
    crew: Count
    """Of the hosts that are to do it; see :class:`Switch`."""
    settings: NamedValues
    keep: NamedValues
    """What they go back to if they receive no more of it."""


class Switch(Part, frozen=True, kw_only=True):
    """What a host sends the run's other hosts about switching at the same step."""

    ranks: Count
    """Of the run, that record on this host."""
    seen: Count = 0
    """The newest plan that arrived; 0: none."""
    seen_step: Count | None = None
    """The step at which it did."""
    done: Count = 0
    """The newest plan whose settings are in use, their start-up over."""
    reason: Text | None = None
    """Why the plan that arrived cannot be done here."""
    is_searching: bool = False
    plan: SwitchPlan | None = None
    """Of the host of rank 0, which leads."""


@with_columns("process")
class ProcessSamples(Rows, frozen=True, kw_only=True):
    at_us: Annotated[list[Count], OfSamples] = []


@with_columns("host")
class HostSamples(Rows, frozen=True, kw_only=True):
    at_us: Annotated[list[Count], OfSamples] = []


@with_columns("gpu")
class GpuSamples(Rows, frozen=True, kw_only=True):
    gpu_index: Count
    at_us: Annotated[list[Count], OfSamples] = []


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
    stacks: Annotated[list[Stacks], Meta(max_length=MOST_ENTRIES)] = []
    tuning: Annotated[list[Tuning], Meta(max_length=1_000)] = []
    switch: Switch | None = None
    process: ProcessSamples | None = None
    host: HostSamples | None = None
    gpus: Annotated[list[GpuSamples], Meta(max_length=1_000)] = []
    losses: Losses | None = None
    overhead_us: Annotated[float, Meta(ge=0, le=1e12)] | None = None
    end: End | None = None


class WindowRows(Part, frozen=True, kw_only=True):
    """What of a :class:`Window` is rows: its other keys are not decoded. For one that was checked before."""

    steps: list[Steps] = []
    batches: list[Batches] = []
    worker_samples: list[WorkerSamples] = []
    process: ProcessSamples | None = None
    host: HostSamples | None = None
    gpus: list[GpuSamples] = []
