"""``underfed doctor``: prints what this host offers a DataLoader, where paths lie, and what may slow loading."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from underfed.commands.checkup import WAITED_FOR, Checkup, PathFacts, examine, human

WIDTH = 80
LABEL = 11

Line = tuple[str, str]
"""A label, empty to go on under the last one, and its text."""


def doctor(paths: Sequence[str], is_json: bool) -> int:
    """Returns 1 if a path does not exist, else 0, whatever was found."""
    found = examine(paths)
    print(json.dumps(asdict(found), indent=2) if is_json else text_of(found))
    return 0 if all(path.exists for path in found.paths) else 1


def text_of(found: Checkup) -> str:
    lines = [*_host_lines(found), *_gpu_lines(found)]
    blocks = ["\n".join(_set(label, text) for label, text in lines)]
    blocks += ["\n".join([path.path, *(_set("", line) for line in _path_lines(path))]) for path in found.paths]
    blocks += [textwrap.fill(f"! {warning}", WIDTH, subsequent_indent="  ") for warning in found.warnings]
    return "\n\n".join([*blocks, *([] if found.warnings else ["Nothing here is known to slow a DataLoader."])])


def _host_lines(found: Checkup) -> Iterator[Line]:
    host = found.host
    yield "CPUs", ", ".join(filter(None, (host.cpu_model, _count(host.numa_nodes, "NUMA node")))) or "–"
    quota = "no quota" if host.quota_cores is None else f"a quota of {host.quota_cores:g} cores"
    usable = "–" if host.usable_cores is None else f"{host.usable_cores:g}"
    yield "", f"{_known(host.allowed_cpus)} of {_known(host.cpu_count)} allowed, {quota}: {usable} usable"
    if host.cpu_slowdown:
        busy, factor = host.cpu_slowdown[-1]
        yield "", f"with {busy:g} of them busy, work takes {factor:.2f} times the CPU time it takes with one"
    if found.throttled_us:
        yield "", f"throttled by the quota for {found.throttled_us / 1e6:.1f} s since this group was created"
    yield "Memory", f"{human(host.memory_total_bytes)}, {human(host.memory_available_bytes)} available"
    if host.memory_limit_bytes is not None:
        yield "", f"limit {human(host.memory_limit_bytes)}, {human(found.memory_used_bytes)} of it used"
    swap = f"{human(host.swap_total_bytes)}, {human(found.swap_used_bytes)} used"
    yield "Swap", "none" if host.swap_total_bytes == 0 else swap
    yield "/dev/shm", f"{human(host.shm_total_bytes)}, {human(host.shm_free_bytes)} free"
    hard = f" (may be raised to {found.open_files_hard_limit:,})" if found.open_files_hard_limit else ""
    yield "Open files", f"at most {_known(host.open_files_limit)}{hard}"
    waits = [f"{WAITED_FOR[name]} {share:.0%}" for name, share in found.pressure_fractions.items()]
    yield "Waiting", f"for {', '.join(waits)} of the last minute" if waits else "this kernel does not report it (PSI)"


def _gpu_lines(found: Checkup) -> Iterator[Line]:
    for index, gpu in enumerate(found.gpus):
        yield "" if index else "GPUs", f"{gpu.gpu_index}: {gpu.name}, {human(gpu.memory_total_bytes)}"
    if not found.gpus:
        yield "GPUs", found.not_measured.get("gpus", "none")
    if found.gpu_driver is not None:
        yield "", f"driver {found.gpu_driver}"


def _path_lines(path: PathFacts) -> Iterator[str]:
    if not path.exists:
        yield "does not exist"
    elif path.mount is None:
        yield "on a mount that cannot be seen"
    else:
        source = f" ({path.source})" if path.source not in (path.file_system, "none", None) else ""
        yield f"mount {path.mount}, {path.file_system}{source}"
        yield _device(path)
        yield f"{human(path.free_bytes)} of {human(path.total_bytes)} free"


def _device(path: PathFacts) -> str:
    kind = {
        "nvme": "NVMe disk",
        "ssd": "SSD",
        "hdd": "rotating disk",
        "network": "behind the network",
        "memory": "in memory",
        "overlay": "a container's layers; what they lie on cannot be seen from here",
        "unknown": "disk of unknown kind" if path.device else "what is below it cannot be seen",
    }[path.kind or "unknown"]
    return f"{kind}, {path.device}" if path.device else kind


def _set(label: str, text: str) -> str:
    indent = " " * LABEL
    return textwrap.fill(text, WIDTH, initial_indent=f"{label:<{LABEL}}", subsequent_indent=indent)


def _count(number: int | None, thing: str) -> str | None:
    return f"{number} {thing}{'s' if number != 1 else ''}" if number is not None else None


def _known(number: int | None) -> str:
    return f"{number:,}" if number is not None else "–"
