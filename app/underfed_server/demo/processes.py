"""The demo's two kinds of process, the service and the training job, started, and ended with all that they started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil

STOP_S = 5.0
"""A process that was asked to end gets this long; the service ends within 3 s."""

COLLECTOR_S = 8.0
"""The collector finishes by itself once its last window is acknowledged; after this long it is ended."""


@contextmanager
def running(command: Sequence[str], environment: Mapping[str, str], output: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``command`` with its output in a file; when the block ends, however it ends, so does the process.

    In a session of its own, so that a Ctrl-C reaches the demo alone, which then ends its processes in order.
    """
    before = _own_children()
    # A service prints into it how its owner signs in.
    with open(output, "ab", opener=partial(os.open, mode=0o600)) as log:
        try:
            yield subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        finally:
            # Looked up: an interruption may come when the process exists and its object does not yet.
            for pid in _own_children() - before:
                end_tree(pid)


def _own_children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def end_tree(pid: int) -> None:
    """End a process and all it started: asked first, killed if it goes on."""
    try:
        parent = psutil.Process(pid)
        family = [*parent.children(recursive=True), parent]
    except psutil.NoSuchProcess:
        return
    _signal(family, "terminate")
    _gone, alive = psutil.wait_procs(family, timeout=STOP_S)
    _signal(alive, "kill")


def wait_for_collector(run_id: str) -> None:
    """Return when no collector of this run is left; one that takes longer than ``COLLECTOR_S`` is ended."""
    left = list(_with_argument(run_id))
    _gone, alive = psutil.wait_procs(left, timeout=COLLECTOR_S)
    _signal(alive, "terminate")
    psutil.wait_procs(alive, timeout=STOP_S)


def last_lines(output: Path, lines: int = 12) -> str:
    """The end of what a process printed, for an error message."""
    return "\n".join(output.read_text(errors="replace").splitlines()[-lines:])


def python(module_or_file: str, *arguments: str) -> list[str]:
    target = [module_or_file] if module_or_file.endswith(".py") else ["-m", module_or_file]
    return [sys.executable, *target, *arguments]


def _signal(processes: Sequence[psutil.Process], how: str) -> None:
    for process in processes:
        try:
            getattr(process, how)()
        except psutil.NoSuchProcess:
            continue


def _with_argument(run_id: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if process.pid != os.getpid() and any(run_id in word for word in words):
            yield process
