"""``watch``, ``init`` and ``finish``: which recording goes on in this process, and what stops one from starting."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from multiprocessing import current_process
from pathlib import Path
from typing import Any

from underfed import Run
from underfed.config import Config, Value, check_name, is_disabled, read_config
from underfed.errors import ConfigError, NotWatchableError, RunDirectoryError, TorchMissingError
from underfed.facts import End
from underfed.guard import Guard
from underfed.recording import Recording, open_recording, say

CALLER = 3
"""Frames from ``_site`` to the user's line: over ``control.watch`` and ``underfed.watch``."""


class _State:
    """Of this process; a forked child begins anew."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        self.lock = threading.RLock()
        self.recording: Recording | None = None
        self.has_failed = False
        """There was no place to record: said once, not tried again."""


_state = _State()


def watch(loader: Any, name: str | None) -> None:
    if is_disabled(os.environ) or is_worker():
        return
    check_loader(loader)
    check_name(name)
    recording = _recording(lambda: read_config(os.environ))
    if recording is None:
        return
    try:
        recording.watch(loader, name, _site())
    except Exception as error:
        recording.guard.failed("watch", error)


def init(
    *,
    project: str | None,
    name: str | None,
    tags: Mapping[str, str] | None,
    config: Mapping[str, Value] | None,
) -> Run:
    if is_disabled(os.environ):
        return Run(None, None)
    wanted = read_config(os.environ, project=project, name=name, tags=tags, config=config)
    with _state.lock:
        if _state.recording is not None:
            raise ConfigError("init() comes before the first watch(), and once: a run has begun; finish() ends it")
        recording = _recording(lambda: wanted)
    if recording is None:
        return Run(None, None)
    return Run(recording.run_id, f"{recording.config.url}/runs/{recording.run_id}")


def finish() -> None:
    with _state.lock:
        recording, _state.recording = _state.recording, None
        _state.has_failed = False
    if recording is not None:
        recording.end(End("finished"))


def check_loader(loader: Any) -> None:
    """Before anything is started."""
    try:
        from torch.utils.data import DataLoader
    except ImportError as error:
        raise TorchMissingError(f"watch() measures PyTorch's DataLoader, and PyTorch is missing: {error}") from error
    if not isinstance(loader, DataLoader):
        kind = f"{type(loader).__module__}.{type(loader).__qualname__}"
        raise NotWatchableError(f"watch() takes a torch.utils.data.DataLoader, got {kind}")


def is_worker() -> bool:
    """In a process that loads batches, or that imports the main module to do so, nobody trains.

    A spawned process imports the main module before it knows its task. What ``watch()`` is called on there, at
    module level, is not recorded even if that task is training.
    """
    torch_worker = sys.modules.get("torch.utils.data._utils.worker")
    in_worker = torch_worker is not None and torch_worker.get_worker_info() is not None
    return in_worker or getattr(current_process(), "_inheriting", False)


def _recording(config: Callable[[], Config]) -> Recording | None:
    """The one that goes on, else a new one. ``None`` where there is no place for one: training goes on without."""
    with _state.lock:
        if _state.recording is None and not _state.has_failed:
            wanted = config()
            try:
                _state.recording = open_recording(wanted)
            except Exception as error:
                _state.has_failed = True
                say(f"nothing is recorded: {error}")
                if not isinstance(error, RunDirectoryError):
                    Guard().failed("start", error)
        return _state.recording


def _site() -> str:
    """``train.py:41``: the line that called ``underfed.watch``."""
    frame = sys._getframe(CALLER)
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _forget() -> None:
    """In a forked child: the parent's run goes on there, not here. Nothing is closed, unlinked or written."""
    recording = _state.recording
    _state.begin_anew()  # also the lock, which another thread may have held
    if recording is not None:
        recording.hooks.remove()


os.register_at_fork(after_in_child=_forget)
