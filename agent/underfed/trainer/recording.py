"""This process's part in a run: its directory, its watched loaders, its hooks, and how it ends.

At most one at a time. A forked child forgets it: the rings are its parent's.
"""

from __future__ import annotations

import atexit
import getpass
import json
import os
import platform
import shutil
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from multiprocessing import parent_process, util
from pathlib import Path
from typing import Any

from underfed.errors import RunDirectoryError
from underfed.exchange import launch, run_files
from underfed.exchange.config import Config, Value, is_interactive, script_path
from underfed.exchange.facts import End, Origin, Replayed, RunFacts, write_facts
from underfed.exchange.guard import Guard
from underfed.exchange.rank import Rank, make_run_id, read_rank
from underfed.host import procfs
from underfed.host.clock import now_ns, wall_clock, wall_clock_ms
from underfed.host.lock import is_held
from underfed.trainer.collector_process import ensure_collector, is_served, start_collector
from underfed.trainer.device.versions import with_versions
from underfed.trainer.hooks.install import LOADING_FACTS
from underfed.trainer.hooks.iterable import NO_DATALOADER
from underfed.trainer.hooks.registry import WATCHED_LOADERS, Registry
from underfed.trainer.hooks.session import Session, open_session
from underfed.trainer.hooks.watched_loader import WatchedLoader
from underfed.trainer.settings.loader_facts import iterable_facts, loader_facts

DRAIN_S = 1.0
"""A container ends with its first process, so the trainer waits this long for its records to be read, never longer."""

POLL_S = 0.01
REASON_LENGTH = 2000
LAST_POLLS = 8
"""At the end the device has mostly done what it was given: each look reads what two requests left."""


class Recording:
    """The run as its training process knows it."""

    def __init__(self, config: Config, rank: Rank, run_id: str, directory: Path, started_by: str) -> None:
        self.config = config
        self.run_id = run_id
        self.directory = directory
        self.pid = os.getpid()
        self.guard = Guard(str(directory / run_files.FAILURES))
        self.registry = Registry()
        self.origin = make_origin(config, rank, run_id, directory)
        self.facts = make_run_facts(config, rank, started_by)
        self.has_ended = False
        self._write()

    def begin(self) -> None:
        """Start the collector, and see to it that the end is marked."""
        start_collector(self.directory.parent, self.guard)
        # A child of multiprocessing ends without atexit, but runs these.
        if parent_process() is not None:
            util.Finalize(None, self.end_as_seen, exitpriority=0)
        else:
            atexit.register(self.end_as_seen)

    def watch(self, loader: Any, name: str | None, site: str, reasons: Mapping[str, str]) -> WatchedLoader | None:
        """Record this DataLoader from its next iterator on. ``reasons``: what cannot be measured of it."""
        watched = self._register(loader, name, site)
        if watched is not None:
            watched.report(loader_facts(loader, watched.name, site, reasons))
        return watched

    def watch_iterable(self, stand_in: Any, iterable: Any, name: str | None, site: str) -> bool:
        """Something else than a DataLoader: wait and step only. Whether it is recorded."""
        watched = self._register(stand_in, name, site)
        if watched is not None:
            watched.report(iterable_facts(iterable, watched.name, site, dict.fromkeys(LOADING_FACTS, NO_DATALOADER)))
        return watched is not None

    def open_plain(self, stand_in: Any) -> Session | None:
        """For a pass over what is no DataLoader."""
        watched = self.registry.find(stand_in)
        if watched is None or self.has_ended or os.getpid() != self.pid:
            return None
        try:
            session = open_session(watched)
            session.begin_plain()
        except Exception as error:
            self.guard.failed("iterator start", error)
            return None
        return session

    def _register(self, loader: Any, name: str | None, site: str) -> WatchedLoader | None:
        watched = self.registry.watch(loader, name, site, self._make_watched)
        if watched is None:
            excess = RuntimeError(f"more than {WATCHED_LOADERS} loaders in one run, {site} is not recorded")
            self.guard.note("watch", excess)
        return watched

    def note_overrides(self, applied: Mapping[str, Value], refused: Mapping[str, str]) -> None:
        """What ``--set`` and ``--apply`` changed, and what they could not."""
        reasons = {f"set:{name}": reason for name, reason in refused.items()}
        others = {name: reason for name, reason in self.facts.not_measured.items() if not name.startswith("set:")}
        self.facts = replace(self.facts, overrides=dict(applied), not_measured={**others, **reasons})
        self._write()

    def note_replay(self, result: Replayed) -> None:
        self.facts = replace(self.facts, replay=result)
        self._write()

    def note_versions(self) -> None:
        """Again while a device may yet be used: a program may do so for the first time in the middle of an epoch."""
        import torch

        facts = with_versions(self.facts, torch)
        if facts != self.facts:
            self.facts = facts
            self._write()

    def end_as_seen(self) -> None:
        """At the end of the process."""
        self.end(how_it_ended())

    def end(self, end: End) -> None:
        """Take out the hooks, mark the end, and wait at most ``DRAIN_S`` until the records were read."""
        if self.has_ended or os.getpid() != self.pid:
            return
        self.has_ended = True
        atexit.unregister(self.end_as_seen)
        try:
            for clock in [watched.clock for watched in self.registry.watched() if watched.clock is not None]:
                for _ in range(LAST_POLLS):
                    clock.poll()
            write_facts(self.directory / run_files.END, end=end)
            ensure_collector(self.directory.parent, self.guard, is_end=True)
            self._say_what_is_left()
        except Exception as error:
            self.guard.failed("end", error)

    def _say_what_is_left(self) -> None:
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
                drained: Mapping[str, Any] = json.loads((self.directory / run_files.DRAINED).read_text())
                (self.directory / run_files.DRAINED).unlink()
            except FileNotFoundError:
                if not self.directory.exists():
                    return {}
            else:
                return drained
            if not is_served(self.directory.parent):
                return None
            time.sleep(POLL_S)
        return None

    def _make_watched(self, index: int, name: str) -> WatchedLoader:
        return WatchedLoader(index, name, self.directory, self.guard, self.note_versions)

    def _write(self) -> None:
        write_facts(self.directory / run_files.RUN, origin=self.origin, run=self.facts)


def open_recording(config: Config) -> Recording:
    """Make this process's directory and begin.

    Raises:
        RunDirectoryError: there is no safe place for the rings.
    """
    rank = read_rank(os.environ)
    run_id = config.run_id or make_run_id(config.name, rank)
    directory = make_directory(config, rank, run_id)
    try:
        recording = Recording(config, rank, run_id, directory, launch.started_by(os.environ))
    except OSError as error:
        shutil.rmtree(directory, ignore_errors=True)
        raise RunDirectoryError(f"{directory} cannot be used: {error}") from error
    recording.begin()
    launch.report(os.environ, launch.RECORDING, run_id)
    if rank.rank == 0:
        say(f"run {config.name} at {config.url}/runs/{run_id}")
    return recording


def make_directory(config: Config, rank: Rank, run_id: str) -> Path:
    """This incarnation's, at the first root that is safe: in /dev/shm others may have been before us."""
    *earlier, last = run_files.find_roots(os.environ, config.data_directory)
    for root in earlier:
        with suppress(RunDirectoryError):
            return run_files.make_rank_directory(root, run_id, rank.rank, wall_clock_ms())
    return run_files.make_rank_directory(last, run_id, rank.rank, wall_clock_ms())


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


def make_run_facts(config: Config, rank: Rank, started_by: str) -> RunFacts:
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
        started_by=started_by,
        tags=dict(config.tags),
        config=dict(config.config),
        launcher=rank.launcher,
        restart_count=rank.restart_count,
        advice_of=launch.advice_of(os.environ),
        not_measured={} if rank.why_apart is None else {"other_hosts": rank.why_apart},
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


def say(line: str) -> None:
    """One line for the person who trains. A closed stderr is no reason to fail."""
    try:
        print(f"underfed: {line}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        return
