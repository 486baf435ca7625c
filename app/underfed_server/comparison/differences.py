"""What runs were set up with, row by row: where it differs, and whether that is known to matter for loading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from underfed_server.advice.loader_settings import SETTINGS
from underfed_server.comparison.side import Side
from underfed_server.model import ComparedSetting, LoaderInfo, Run, Setting, Unit

Group = Literal["loader", "data", "machine", "software", "config", "tags", "command"]

MATTERS: Mapping[str, frozenset[str]] = {
    "loader": frozenset(SETTINGS) | {"shuffle"},
    "data": frozenset({"dataset", "samples", "sampler", "collate", "transforms", "storage", "batch_tensors", "batch"}),
    "machine": frozenset({"cpu", "usable_cores", "host_memory", "shm", "world_size", "launcher"}),
}
"""Settings that rules of diagnosis or advice look at, by group."""

OPTIONAL: frozenset[Group] = frozenset({"config", "tags"})
"""A run that has none of these has none set, so that is a difference; elsewhere it means not known."""


@dataclass(frozen=True, slots=True)
class _Row:
    group: Group
    name: str
    unit: Unit = "setting"


def settings_of(sides: Sequence[Side]) -> list[ComparedSetting]:
    """By group; within a group those that matter first."""
    of_each = [dict(_of_run(side)) for side in sides]
    rows = dict.fromkeys(row for each in of_each for row in each)
    known = [{row.group for row, value in each.items() if value is not None} for each in of_each]
    found = [_compared(row, [each.get(row) for each in of_each], known) for row in rows]
    groups: tuple[Group, ...] = ("loader", "data", "machine", "config", "tags", "software", "command")
    return sorted(found, key=lambda one: (groups.index(one.group), not one.matters))


def _compared(row: _Row, values: list[Setting], known: Sequence[set[Group]]) -> ComparedSetting:
    """``known``: for each run, groups of which anything is known. A version that is not known may be the same."""
    # Otherwise every setting would seem to differ from a run without a loader.
    counted = [
        value for value, groups in zip(values, known, strict=True) if row.group in groups or row.group in OPTIONAL
    ]
    if row.group == "software":
        counted = [value for value in counted if value is not None]
    return ComparedSetting(
        name=row.name,
        group=row.group,
        unit=row.unit,
        values=values,
        # True and 1 are equal in Python, and not the same setting.
        differs=len({(type(value), value) for value in counted}) > 1,
        matters=row.name in MATTERS.get(row.group, ()),
    )


def _of_run(side: Side) -> Iterator[tuple[_Row, Setting]]:
    run = side.run
    loader = _judged_loader(side)
    settings = loader.settings if loader else {}
    yield from ((_Row("loader", name), value) for name, value in settings.items())
    yield from _of_data(run, loader)
    yield from _of_machine(run)
    yield from ((_Row("config", name), value) for name, value in run.config.items())
    yield from ((_Row("tags", name), value) for name, value in run.tags.items())
    yield from ((_Row("software", name), value) for name, value in _versions(run))
    yield _Row("command", "job"), run.job
    yield _Row("command", "script"), run.script
    yield _Row("command", "command"), " ".join(run.command) or None


def _versions(run: Run) -> Iterator[tuple[str, str | None]]:
    yield "python", run.python_version
    yield "torch", run.torch_version
    yield "cuda", run.cuda_version
    yield "rocm", run.hip_version
    yield "cudnn", run.cudnn_version
    yield "gpu_driver", ", ".join(sorted({host.gpu_driver for host in run.hosts if host.gpu_driver})) or None
    yield "agent", run.agent_version


def _judged_loader(side: Side) -> LoaderInfo | None:
    name = side.diagnosis.loader if side.diagnosis else None
    loaders = side.run.loaders
    return next((each for each in loaders if each.loader == name), loaders[0] if loaders else None)


def _of_data(run: Run, loader: LoaderInfo | None) -> Iterator[tuple[_Row, Setting]]:
    if loader is None:
        return
    yield _Row("data", "dataset"), loader.dataset_type
    yield _Row("data", "samples", "count"), loader.dataset_length
    yield _Row("data", "sampler"), loader.sampler_type
    yield _Row("data", "collate"), loader.collate_type
    yield _Row("data", "transforms"), ", ".join(loader.transforms or ()) or None
    yield _Row("data", "batch_tensors", "count"), loader.batch_tensors
    yield _Row("data", "batch", "bytes"), loader.batch_bytes
    places = {f"{place.mount} ({place.kind})" for place in run.storage if place.loader == loader.loader}
    yield _Row("data", "storage"), ", ".join(sorted(places)) or None


def _of_machine(run: Run) -> Iterator[tuple[_Row, Setting]]:
    host = run.hosts[0] if run.hosts else None
    yield _Row("machine", "hosts"), ", ".join(sorted(run.hostnames)) or None
    yield _Row("machine", "world_size", "count"), run.world_size
    yield _Row("machine", "launcher"), run.launcher
    yield _Row("machine", "gpu"), run.gpu_name
    yield _Row("machine", "cpu"), host.cpu_model if host else None
    yield _Row("machine", "usable_cores", "cores"), host.usable_cores if host else None
    memory_bytes = (host.memory_limit_bytes or host.memory_total_bytes) if host else None
    yield _Row("machine", "host_memory", "bytes"), memory_bytes
    yield _Row("machine", "shm", "bytes"), host.shm_total_bytes if host else None
