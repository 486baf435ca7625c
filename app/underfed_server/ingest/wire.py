"""The wire format, version 1 (docs/wire.md), as types: what decodes here is what the store can keep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Annotated, Literal, Union

import msgspec
from msgspec import Meta, Struct

from underfed_server.errors import InvalidError, MalformedError, UnknownVersionError

VERSION = 1
LARGEST = 2**53
"""Every integer is exact as a float64 up to here, in JavaScript too."""

LONGEST_US = 2**32 - 2
"""In a column; 2^32 − 1 is the store's "not measured". 71 minutes: no step is longer."""

MOST_STEPS = 4_096
MOST_BATCHES = 16_384
MOST_ENTRIES = 10_000

EARLIEST, LATEST = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (2000, 2200))
"""A ``started_at`` outside is a broken clock, and would not survive arithmetic in other time zones."""

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
OptionalCounts = list[Count | None]
OptionalDurations = list[Duration | None]
OptionalAmounts = list[Amount | None]


class Part(Struct, frozen=True, gc=False):
    """Unknown keys are ignored, so version 1 can grow."""


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
    cpu_slowdown: Annotated[list[tuple[Amount, Amount]], Meta(max_length=MOST_ENTRIES)] | None = None


class Device(Part, frozen=True, kw_only=True):
    gpu_index: Count
    name: Name
    uuid: Name | None = None
    memory_total_bytes: Count | None = None


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
    started_by: Name | None = None
    tags: Annotated[dict[Name, Text], Meta(max_length=MOST_ENTRIES)] = {}
    config: Annotated[dict[Name, Value], Meta(max_length=MOST_ENTRIES)] = {}
    overrides: Annotated[dict[Name, Value], Meta(max_length=MOST_ENTRIES)] = {}
    advice_of: Name | None = None
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
    not_measured: Reasons = {}


class Steps(Part, frozen=True, kw_only=True):
    loader: LoaderName
    epoch_index: Count
    first_step_index: Count
    first_batch_index: Count
    start_us: Count
    step_us: OptionalDurations
    data_wait_us: Durations
    queue_depth: OptionalDurations | None = None
    batch_index: Counts | None = None
    gpu_idle_us: OptionalDurations | None = None
    h2d_us: OptionalDurations | None = None
    h2d_exposed_us: OptionalDurations | None = None


class Batches(Part, frozen=True, kw_only=True):
    loader: LoaderName
    epoch_index: Count
    batch_index: Counts
    start_us: Counts
    load_us: Durations
    worker: OptionalDurations | None = None
    cpu_us: OptionalDurations | None = None
    runqueue_us: OptionalDurations | None = None
    blocked_us: OptionalDurations | None = None
    collate_us: OptionalDurations | None = None
    asked_bytes: OptionalCounts | None = None
    read_bytes: OptionalCounts | None = None
    samples: OptionalCounts | None = None
    received_us: OptionalCounts | None = None


class Epoch(Part, frozen=True, kw_only=True):
    loader: LoaderName
    epoch_index: Count
    start_us: Count
    first_step_index: Count
    iterator_us: Count | None = None
    startup_us: Count | None = None
    steps: Count | None = None
    end_us: Count | None = None
    ended: Literal["exhausted", "broken_off", "error"] | None = None


class ProcessSamples(Part, frozen=True, kw_only=True):
    at_us: Counts = []
    main_cpu_us: OptionalCounts | None = None
    main_runqueue_us: OptionalCounts | None = None
    process_cpu_us: OptionalCounts | None = None
    workers_cpu_us: OptionalCounts | None = None
    rss_bytes: OptionalCounts | None = None
    workers_rss_bytes: OptionalCounts | None = None
    threads: OptionalCounts | None = None


class HostSamples(Part, frozen=True, kw_only=True):
    at_us: Counts = []
    busy_cores: OptionalAmounts | None = None
    cpu_pressure_us: OptionalCounts | None = None
    io_pressure_us: OptionalCounts | None = None
    throttled_us: OptionalCounts | None = None
    memory_available_bytes: OptionalCounts | None = None
    swap_used_bytes: OptionalCounts | None = None
    shm_free_bytes: OptionalCounts | None = None


class GpuSamples(Part, frozen=True, kw_only=True):
    gpu_index: Count
    at_us: Counts = []
    util_fraction: list[Fraction | None] | None = None
    memory_used_bytes: OptionalCounts | None = None
    power_w: OptionalAmounts | None = None
    own_process: list[bool | None] | None = None


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
    process: ProcessSamples | None = None
    host: HostSamples | None = None
    gpus: Annotated[list[GpuSamples], Meta(max_length=1_000)] = []
    losses: Losses | None = None
    overhead_us: Annotated[float, Meta(ge=0, le=1e12)] | None = None
    end: End | None = None

    @property
    def step_count(self) -> int:
        return sum(len(part.step_us) for part in self.steps)


class _Versioned(Struct):
    version: int


_decoder = msgspec.json.Decoder(Window)
_version_decoder = msgspec.json.Decoder(_Versioned)
_PLACE = re.compile(r" - at (`key` in )?`\$\.?(?P<field>[^`]*)`$")
_MISSING = re.compile(r"missing required field `(?P<name>[^`]*)`")


def decode(body: bytes) -> Window:
    """One window, every field within its limits.

    Raises:
        MalformedError: ``body`` is not one JSON value in UTF-8.
        UnknownVersionError: it is of another wire version.
        InvalidError: a field is missing or out of its range; ``field`` names it.
    """
    window = decode_known(body)
    check(window)
    return window


def decode_known(body: bytes) -> Window:
    """As :func:`decode`, for a body that was checked before: types only, no relations between fields."""
    try:
        return _decoder.decode(body)
    except msgspec.ValidationError as error:
        _require_version(body)
        raise _invalid(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedError(f"the body is not JSON: {error}") from error
    except RecursionError as error:
        raise MalformedError("the body is nested too deeply") from error


def _require_version(body: bytes) -> None:
    """A window of another version is refused as such, whatever else in it looks wrong to this one."""
    try:
        version = _version_decoder.decode(body).version
    except (msgspec.DecodeError, RecursionError):
        return
    if version != VERSION:
        raise UnknownVersionError(
            f"wire version {version} is not known to this service, which reads version {VERSION}", field="version"
        )


def _invalid(message: str) -> InvalidError:
    """msgspec's ``Expected `int`, got `str` - at `$.steps[0].epoch_index``` as an error that names the field."""
    place, missing = _PLACE.search(message), _MISSING.search(message)
    parts = [place["field"].replace("[...]", "") if place else "", missing["name"] if missing else ""]
    field = ".".join(filter(None, parts))
    said = message[: place.start()] if place else message
    return InvalidError(f"{field}: {said}" if field else f"the body: {said}", field=field or None)


def check(window: Window) -> None:
    """The relations between fields that types cannot say.

    Raises:
        InvalidError: naming the field.
    """
    _check_order(window)
    for index, steps in enumerate(window.steps):
        _check_steps(f"steps[{index}]", steps)
    for index, batches in enumerate(window.batches):
        _check_lengths(f"batches[{index}]", batches, len(batches.load_us))
    _require(window.step_count <= MOST_STEPS, "steps", f"more than {MOST_STEPS} steps in a window")
    count = sum(len(batches.load_us) for batches in window.batches)
    _require(count <= MOST_BATCHES, "batches", f"more than {MOST_BATCHES} batches in a window")
    for place, samples in _samples(window):
        _check_lengths(place, samples, len(samples.at_us))


def _check_order(window: Window) -> None:
    previous = window.previous_window_index
    _require(
        previous is None or previous < window.window_index,
        "previous_window_index",
        f"{previous} does not come before window_index {window.window_index}",
    )
    _require(window.start_us <= window.end_us, "end_us", "lies before start_us")
    started = window.started_at
    _require(EARLIEST <= started <= LATEST, "started_at", f"{started.isoformat()} is not a time to start at")


def _check_steps(place: str, steps: Steps) -> None:
    _check_lengths(place, steps, len(steps.step_us))
    open_at = next((index for index, value in enumerate(steps.step_us) if value is None), None)
    if open_at is not None and open_at != len(steps.step_us) - 1:
        raise InvalidError(
            f"{place}.step_us[{open_at}]: only the last step may be open", field=f"{place}.step_us[{open_at}]"
        )


def _samples(window: Window) -> Iterator[tuple[str, ProcessSamples | HostSamples | GpuSamples]]:
    if window.process is not None:
        yield "process", window.process
    if window.host is not None:
        yield "host", window.host
    for index, gpu in enumerate(window.gpus):
        yield f"gpus[{index}]", gpu


def _check_lengths(place: str, part: Part, expected: int) -> None:
    for name in part.__struct_fields__:
        column = getattr(part, name)
        if isinstance(column, list) and len(column) != expected:
            raise InvalidError(
                f"{place}.{name}: {len(column)} values beside columns of {expected}", field=f"{place}.{name}"
            )


def _require(holds: bool, field: str, message: str) -> None:
    if not holds:
        raise InvalidError(f"{field}: {message}", field=field)
