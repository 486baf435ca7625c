"""This process's part in a run: its directory, its watched loaders, its hooks, and how it ends.

At most one at a time. A forked child forgets it: the rings are its parent's.
"""

from __future__ import annotations

import atexit
import getpass
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing import parent_process, util
from pathlib import Path
from typing import Any

from underfed import procfs, rundir
from underfed.clock import now_ns, wall_clock
from underfed.config import Config, is_interactive, script_path
from underfed.errors import RunDirectoryError
from underfed.facts import End, Origin, RunFacts, write_facts
from underfed.guard import Guard, note_failure
from underfed.hooks.install import Hooks, foreign_iterator
from underfed.hooks.registry import WATCHED_LOADERS, Registry
from underfed.hooks.session import WatchedLoader
from underfed.hooks.settings import loader_facts
from underfed.launch import start_collector
from underfed.lock import is_held
from underfed.rank import Rank, make_run_id, read_rank

DRAIN_S = 1.0
"""A container ends with its first process, so the trainer waits this long for its records to be read, never longer."""

STARTING_S = 5.0
"""A collector that does not hold its lock by then has failed to start."""

POLL_S = 0.01
REASON_LENGTH = 2000


class Recording:
    """The run as its training process knows it."""

    def __init__(self, config: Config, rank: Rank, run_id: str, directory: Path) -> None:
        self.config = config
        self.run_id = run_id
        self.directory = directory
        self.pid = os.getpid()
        self.guard = Guard(str(directory / rundir.FAILURES))
        self.registry = Registry()
        self.hooks = Hooks(self.registry)
        self.origin = make_origin(config, rank, run_id, directory)
        self.facts = make_run_facts(config, rank)
        self.has_ended = False
        self._write()

    def begin(self) -> None:
        """Start the companion, and see to it that the end is marked. A companion that fails to start is counted."""
        try:
            start_collector(self.directory.parent)
        except OSError as error:
            self.guard.failed("collector start", error)
        # A child of multiprocessing ends without atexit, but runs these.
        if parent_process() is not None:
            util.Finalize(None, self.end_as_seen, exitpriority=0)
        else:
            atexit.register(self.end_as_seen)

    def watch(self, loader: Any, name: str | None, site: str) -> None:
        """Record this DataLoader from its next iterator on."""
        if not self.hooks.is_installed:
            self.hooks.install()
            self.facts = replace(self.facts, torch_version=torch_version())
            self._write()
        watched = self.registry.watch(loader, name, site, self._make_watched)
        if watched is None:
            excess = RuntimeError(f"more than {WATCHED_LOADERS} loaders are watched at a time, {site} is not recorded")
            note_failure(str(self.directory / rundir.FAILURES), "watch", excess)
            return
        reasons = {**self.hooks.not_measured, **foreign_iterator(loader)}
        facts = loader_facts(loader, watched.name, site, reasons)
        write_facts(rundir.loader_facts(self.directory, watched.index), loader=facts)

    def end_as_seen(self) -> None:
        """At the end of the process."""
        self.end(how_it_ended())

    def end(self, end: End) -> None:
        """Take out the hooks, mark the end, and wait at most ``DRAIN_S`` until the records were read."""
        if self.has_ended or os.getpid() != self.pid:
            return
        self.has_ended = True
        self.hooks.remove()
        atexit.unregister(self.end_as_seen)
        try:
            write_facts(self.directory / rundir.END, end=end)
            self._tell_what_is_left()
        except Exception as error:
            self.guard.failed("end", error)

    def _tell_what_is_left(self) -> None:
        drained = self._wait_until_drained()
        unsent = (drained or {}).get("unsent")
        if unsent:
            say(
                f"windows of run {self.run_id} left to send: {unsent}, kept in {self.config.data_directory}; "
                f"{self.config.url} did not take them, `underfed push` sends them"
            )
        elif drained is None and not is_held(self.directory.parent):
            say(f"the end of run {self.run_id} is kept in {self.directory.parent}; `underfed push` sends it")

    def _wait_until_drained(self) -> Mapping[str, Any] | None:
        """What the collector said when it had read everything; ``None`` when it did not in time."""
        deadline = time.monotonic() + DRAIN_S
        while time.monotonic() < deadline:
            try:
                drained: Mapping[str, Any] = json.loads((self.directory / rundir.DRAINED).read_text())
                (self.directory / rundir.DRAINED).unlink()
            except FileNotFoundError:
                if not self.directory.exists():
                    return {}
            else:
                return drained
            if now_ns() - self.origin.origin_ns > STARTING_S * 1e9 and not is_held(self.directory.parent):
                return None
            time.sleep(POLL_S)
        return None

    def _make_watched(self, index: int, name: str) -> WatchedLoader:
        return WatchedLoader(index, name, self.directory, self.guard)

    def _write(self) -> None:
        write_facts(self.directory / rundir.RUN, origin=self.origin, run=self.facts)


def open_recording(config: Config) -> Recording:
    """Make this process's directory and begin.

    Raises:
        RunDirectoryError: there is no safe place for the rings.
    """
    rank = read_rank(os.environ)
    run_id = config.run_id or make_run_id(config.name, rank)
    root = rundir.find_root(os.environ, config.data_directory)
    directory = make_rank_directory(root, run_id, rank.rank)
    try:
        recording = Recording(config, rank, run_id, directory)
    except OSError as error:
        raise RunDirectoryError(f"{directory} cannot be used: {error}") from error
    recording.begin()
    if rank.rank == 0:
        say(f"run {config.name} at {config.url}/runs/{run_id}")
    return recording


def make_rank_directory(root: Path, run_id: str, rank: int) -> Path:
    """A new one for this incarnation. A leaving collector may remove the run's directory in between: once more then."""
    for is_last in (False, True):
        directory = rundir.rank_directory(rundir.make_run_directory(root, run_id), rank, time.time_ns() // 1_000_000)
        try:
            directory.mkdir(mode=0o700)
        except OSError as error:
            if is_last:
                raise RunDirectoryError(f"{directory} cannot be made: {error.strerror}") from error
        else:
            return directory
    raise AssertionError("the last attempt returns or raises")


def make_origin(config: Config, rank: Rank, run_id: str, directory: Path) -> Origin:
    return Origin(
        run_id=run_id,
        rank=rank.rank,
        incarnation=int(directory.name.rpartition("-")[2]),
        pid=os.getpid(),
        start_ticks=procfs.start_ticks(os.getpid()),
        boot_id=procfs.boot_id(),
        pid_namespace=procfs.pid_namespace(),
        hostname=platform.node(),
        started_at=wall_clock(),
        origin_ns=now_ns(),
        url=config.url,
        data_directory=str(config.data_directory),
        visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
        device_order=os.environ.get("CUDA_DEVICE_ORDER"),
    )


def make_run_facts(config: Config, rank: Rank) -> RunFacts:
    from underfed import __version__

    return RunFacts(
        project=config.project,
        name=config.name,
        job=f"{config.project}/{config.name}",
        user=user_name(),
        hostname=platform.node(),
        command=[word[:REASON_LENGTH] for word in sys.orig_argv[:200]],
        script=script_path(),
        pid=os.getpid(),
        rank=rank.rank,
        local_rank=rank.local_rank,
        node_rank=rank.node_rank,
        world_size=rank.world_size,
        agent_version=__version__,
        python_version=platform.python_version(),
        torch_version=None,
        started_by="watch",
        tags=dict(config.tags),
        config=dict(config.config),
    )


def how_it_ended() -> End:
    """From what the interpreter still knows of the exception that ended it, if one did."""
    error = sys.exc_info()[1] or getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if isinstance(error, SystemExit):
        return exit_end(error)
    if error is None or is_interactive():
        return End("finished")
    return End("crashed", last_words(error), 130 if isinstance(error, KeyboardInterrupt) else 1)


def exit_end(error: SystemExit) -> End:
    """``sys.exit()`` in a child of multiprocessing; torch's ``spawn`` ends so after the child's own exception."""
    if error.code in (None, 0):
        return End("finished")
    code = error.code if isinstance(error.code, int) else 1
    return End("crashed", last_words(error.__context__ or error), code)


def last_words(error: BaseException) -> str:
    """``Type: message``, as the end of a traceback has it."""
    return traceback.format_exception_only(type(error), error)[-1].strip()[:REASON_LENGTH]


def user_name() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None  # a container's user without a name


def torch_version() -> str:
    import torch

    return str(torch.__version__)


def say(line: str) -> None:
    """One line for the person who trains. A closed stderr is no reason to fail."""
    try:
        print(f"underfed: {line}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        return
