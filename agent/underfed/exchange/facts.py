"""What the training process reports to the collector once, in small JSON files: itself and its loaders.

``RunFacts`` and ``LoaderFacts`` have the keys of docs/wire.md and travel as they are, but for ``paths`` and ``source``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from underfed.exchange.config import Value
from underfed.exchange.parts import parse, write_part
from underfed.exchange.run_files import RUN, rank_directories
from underfed.host.signal_handlers import passing

REASON_LENGTH = 200

Facts = TypeVar("Facts", "Origin", "Replayed", "RunFacts", "LoaderFacts", "End", "Leaving", "SourceLine")


def reason_of(error: Exception) -> str:
    """Why something was not measured, where this was raised."""
    return f"{type(error).__name__}: {error}"[:REASON_LENGTH]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a rank's records come from and where they are sent; only for the collector."""

    run_id: str
    rank: int
    incarnation: int
    pid: int
    start_ticks: int | None
    boot_id: str | None
    pid_namespace: str | None
    hostname: str
    started_at: str
    """Wall clock at ``origin_ns``."""
    origin_ns: int
    """Where the run clock reads 0."""
    url: str
    data_directory: str
    visible_devices: str | None
    """``CUDA_VISIBLE_DEVICES``; ``None``: not set."""
    device_order: str | None
    """``CUDA_DEVICE_ORDER``."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What ``--replay`` measured: steps per second of the training loop."""

    batches: int
    real_steps_per_s: float
    instant_steps_per_s: float

    @property
    def speedup(self) -> float:
        return self.instant_steps_per_s / self.real_steps_per_s


@dataclass(frozen=True, slots=True)
class TrackerRun:
    """The same run in W&B, MLflow or TensorBoard."""

    tracker: str
    run: str
    """Its id there; of TensorBoard the directory of its events."""
    url: str | None = None
    """Of its page, where it has one."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    project: str
    name: str
    job: str
    user: str | None
    hostname: str
    command: list[str]
    script: str | None
    pid: int
    rank: int
    local_rank: int
    node_rank: int | None
    world_size: int
    agent_version: str
    python_version: str
    torch_version: str | None
    started_by: str
    tags: dict[str, str]
    config: dict[str, Value]
    launcher: str | None = None
    restart_count: int | None = None
    slurm_job_id: str | None = None
    namespace: str | None = None
    """Of Kubernetes, like the two that follow."""
    pod: str | None = None
    """Of this rank."""
    train_job: str | None = None
    queue: str | None = None
    """Of Kueue; in SLURM the partition."""
    overrides: dict[str, Value] = field(default_factory=dict)
    advice_of: str | None = None
    replay: Replayed | None = None
    cuda_version: str | None = None
    hip_version: str | None = None
    """PyTorch is built with one of the two, or none."""
    cudnn_version: str | None = None
    trackers: list[TrackerRun] | None = None
    """Found by the collector, in what the training process reports of them; ``None``: it logs with none."""
    not_measured: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """Where the call that constructed a loader is looked for; only for the collector."""

    loader_type: str
    """Its class, by which a call is known."""
    shown: str | None = None
    """The file as it is shown: relative, where it lies below the program."""
    line: int | None = None
    is_constructor: bool = False
    """The line is that of the call; false: it watches the loader, and the call is another one of its file."""
    file: str | None = None
    modified_ns: int | None = None
    """When the file had been written at that time: what was written later is not what runs."""
    package: str | None = None
    """The installed package that constructed it."""
    why_not: str | None = None
    """There is no file to read."""

    def with_file(self, file: str, modified_ns: int) -> SourceLine:
        return replace(self, file=file, modified_ns=modified_ns)

    def without_file(self, why_not: str) -> SourceLine:
        return replace(self, why_not=why_not)


@dataclass(frozen=True, slots=True)
class LoaderFacts:
    loader: str
    settings: dict[str, Value]
    watched_at: str | None
    dataset_type: str | None = None
    dataset_kind: str | None = None
    dataset_length: int | None = None
    batches_per_epoch: int | None = None
    sampler_type: str | None = None
    collate_type: str | None = None
    transforms: list[str] | None = None
    batch_tensors: int | None = None
    batch_bytes: int | None = None
    batch_dtypes: dict[str, int] | None = None
    """Bytes of the tensors of each type; found by the collector, like the other facts of a batch."""
    batch_fits_uint8: bool | None = None
    dataset_shards: int | None = None
    """Of an iterable data set: those that the workers of this rank share."""
    takes_whole_shards: bool | None = None
    """Each worker reads shards of its own; false: they share out samples."""
    fetches_batches: bool | None = None
    """One call of a map-style data set gives a whole batch."""
    dispatched: bool | None = None
    """One rank loads for all and sends them their batches."""
    snapshot_interval_steps: int | None = None
    """Of a stateful loader: batches of which one brings its worker's state with it."""
    keeps_state: bool | None = None
    """Of a stateful loader: its data set has a state of its own."""
    shards: bool | None = None
    """Whether an iterable data set is sharded among workers, as its code shows, or two workers that were compared."""
    why_unsharded: str | None = None
    compared_batches: int | None = None
    """Found by the collector, like the one that follows: first batches of several workers, ..."""
    repeated_batches: int | None = None
    """... and those of them that another worker gave too."""
    overrides: dict[str, Value] | None = None
    """Of the settings: what ``--set`` or ``--apply`` set of this loader; ``None``: nothing."""
    constructed_at: str | None = None
    """``data/loaders.py:41``: the call of its class, where that is the program's own."""
    constructed_by: str | None = None
    """The installed package that constructed it."""
    constructor_call: str | None = None
    """The source of that call; found by the collector."""
    source: SourceLine | None = None
    paths: list[str] | None = None
    """Files and directories that the data set's own attributes name; only for the collector."""
    not_measured: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class End:
    """How a recording ended; the incarnation's last window holds it too."""

    status: str
    exit_reason: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Leaving:
    """The process is about to end. With which status it does not know: ``sys.exit()`` tells nobody its code."""

    last_words: str | None = None
    """Of the exception that Python is ending with, if there is one."""


NAMES: Mapping[type[Any], str] = {
    Origin: "origin",
    RunFacts: "run",
    LoaderFacts: "loader",
    End: "end",
    Leaving: "leaving",
}


def write_facts(path: Path, *parts: Origin | RunFacts | LoaderFacts | End | Leaving) -> None:
    """One JSON object with a key for each part, replaced as a whole."""
    write_part(path, {NAMES[type(part)]: part for part in parts})


def read_facts(path: Path, kind: type[Facts]) -> Facts:
    """The part of this kind that ``write_facts`` was given, maybe of another release: ``push`` reads what others left.

    Raises:
        OSError, ValueError, KeyError: it cannot be read, or has no such part.
    """
    return parse(kind, json.loads(path.read_text())[NAMES[kind]])


def origins_in(run_directories: Iterable[Path]) -> Iterator[tuple[Origin, Path]]:
    """Of the ranks in there, with their directories. Those that cannot be read, or are being removed, are left out."""
    for path in (path for run_directory in run_directories for path in rank_directories(run_directory)):
        with passing(OSError, ValueError, KeyError, TypeError):
            yield read_facts(path / RUN, Origin), path
