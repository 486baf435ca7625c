"""This process's part in a run: its directory, its watched loaders, and its end.

At most one at a time. A forked child forgets it: the rings are its parent's.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from multiprocessing import parent_process, util
from pathlib import Path
from typing import Any, NamedTuple

from underfed.errors import RunDirectoryError
from underfed.exchange import figures, launch, run_files
from underfed.exchange.config import Config, Value
from underfed.exchange.facts import End, Leaving, LoaderFacts, Replayed, RunFacts, reason_of, write_facts
from underfed.exchange.guard import Guard
from underfed.exchange.rank import Rank, make_run_id, read_rank
from underfed.host.clock import wall_clock_ms
from underfed.host.files import remove_directory
from underfed.host.signal_handlers import let_through, passing
from underfed.trainer.collector_process import ensure_collector, is_served, start_collector
from underfed.trainer.device.versions import with_versions
from underfed.trainer.hooks.profiler import Profiler
from underfed.trainer.hooks.registry import WATCHED_LOADERS, Registry
from underfed.trainer.hooks.session import Session, open_session
from underfed.trainer.hooks.watched_loader import WatchedLoader
from underfed.trainer.process_facts import leaving, make_origin, make_run_facts
from underfed.trainer.trackers import ProcessTrackers

DRAIN_S = 1.0
"""A container ends with its first process, so the trainer waits this long for its records to be read, never longer."""

POLL_S = 0.01
LAST_POLLS = 8
"""Polls at the end, when the device has mostly finished: each reads the events of two requests."""

ReadFacts = Callable[[str, str], LoaderFacts]
"""Called with a loader's name and the line that watches it."""


class Recording:
    """The run as its training process knows it."""

    def __init__(self, config: Config, place: RecordingPlace, started_by: str) -> None:
        self.config = config
        self.run_id = place.run_id
        self.directory = place.directory
        self.figures = figures.FiguresFile(str(place.directory / figures.FILE))
        self.pid = os.getpid()
        self.guard = Guard(str(place.directory / run_files.FAILURES))
        self.registry = Registry()
        is_profiled = config.profiles and config.stacks != "0"
        self.profiler = Profiler(self.directory, self.guard, config.stacks == "always") if is_profiled else None
        self.origin = make_origin(config, place.rank, place.run_id, place.directory)
        self.facts = make_run_facts(config, place.rank, started_by)
        self.trackers = ProcessTrackers(self.directory, f"{config.url}/runs/{self.run_id}", self.guard)
        self.has_collector = False
        self.has_ended = False
        self._write()

    def begin(self) -> None:
        """Start the collector, and register what marks the end: the last line, so that all may be repeated."""
        if not self.has_collector:
            start_collector(self.directory.parent, self.guard)
            self.has_collector = True
        # A child of multiprocessing ends without atexit, but runs these.
        if parent_process() is not None:
            util.Finalize(None, self.leave, exitpriority=0)
        else:
            atexit.register(self.leave)

    def watch(self, loader: Any, name: str | None, site: str, facts: ReadFacts) -> WatchedLoader | None:
        """Record this loader from its next iterator on; ``None``: the run has too many already."""
        watched = self.registry.watch(
            loader,
            name,
            site,
            lambda index, name: WatchedLoader(
                index,
                name,
                self.directory,
                self.guard,
                self.report_versions,
                stacks=self.config.stacks,
                profiler=self.profiler,
            ),
        )
        if watched is None:
            excess = RuntimeError(f"more than {WATCHED_LOADERS} loaders in one run, {site} is not recorded")
            self.guard.count("watch", excess)
        else:
            self._describe(watched, site, facts)
        return watched

    def _describe(self, watched: WatchedLoader, site: str, facts: ReadFacts) -> None:
        """A loader that cannot be described is recorded all the same."""
        try:
            watched.report(facts(watched.name, site))
        except Exception as error:
            let_through(error)
            reason = reason_of(error)
            watched.report(LoaderFacts(watched.name, {}, site, not_measured={"settings": reason}))
            self.guard.failed("loader facts", error)

    def open_plain(self, stand_in: Any) -> Session | None:
        """A session for a pass over an iterable that is no DataLoader."""
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

    def report_overrides(self, applied: Mapping[str, Value], refused: Mapping[str, str]) -> None:
        """What ``--set`` and ``--apply`` changed, and what they could not."""
        reasons = {f"set:{name}": reason for name, reason in refused.items()}
        others = {name: reason for name, reason in self.facts.not_measured.items() if not name.startswith("set:")}
        self._report(replace(self.facts, overrides=dict(applied), not_measured={**others, **reasons}))

    def report_lacks(self, reasons: Mapping[str, str]) -> None:
        """What cannot be measured of any loader, or only otherwise than usual."""
        self._report(replace(self.facts, not_measured={**self.facts.not_measured, **reasons}))

    def report_replay(self, result: Replayed) -> None:
        self._report(replace(self.facts, replay=result))

    def report_versions(self) -> None:
        """Repeated while a device may yet come into use, which may happen in the middle of an epoch."""
        import torch

        self._report(with_versions(self.facts, torch))

    def leave(self) -> None:
        """At the end of the process. Its exit status is the kernel's to tell, once it has one."""
        try:
            self.end(leaving())
        except Exception:  # A signal handler's, as torch's where a worker was killed; the mark stands all the same.
            if not self.has_ended:
                self.end(leaving())
            raise

    def end(self, end: End | Leaving) -> None:
        """Mark the end, and wait at most ``DRAIN_S`` until the collector has read the records."""
        if self.has_ended or os.getpid() != self.pid:
            return
        if self.profiler is not None:
            self.profiler.close()
        self.trackers.end()
        try:
            for clock in [watched.clock for watched in self.registry.watched() if watched.clock is not None]:
                for _ in range(LAST_POLLS):
                    clock.poll()
            write_facts(self.directory / run_files.END, end)
            self.has_ended = True
            atexit.unregister(self.leave)
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
                f"{self.config.url} did not take them, `{self.config.push_command}` sends them"
            )
        elif drained is None and not is_served(self.directory.parent):
            say(
                f"the end of run {self.run_id} is kept in {self.directory.parent}; "
                f"`{self.config.push_command}` sends it"
            )

    def _wait_until_drained(self) -> Mapping[str, Any] | None:
        """What the collector reported when it had read everything; ``None`` when it did not in time."""
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

    def _report(self, facts: RunFacts) -> None:
        """Write the run's facts where the collector finds them, if they have changed."""
        if facts != self.facts:
            self.facts = facts
            self._write()

    def _write(self) -> None:
        write_facts(self.directory / run_files.RUN, self.origin, self.facts)


class RecordingPlace(NamedTuple):
    """Of one incarnation."""

    rank: Rank
    run_id: str
    directory: Path


def make_place(config: Config) -> RecordingPlace:
    """
    Raises:
        RunDirectoryError: there is no safe place for the rings.
    """
    rank = read_rank(os.environ)
    run_id = config.run_id or make_run_id(config.name, rank)
    return RecordingPlace(rank, run_id, _make_directory(config, rank, run_id))


def started_by(environ: Mapping[str, str]) -> str:
    """``run``: below ``underfed run``; ``autoload``: by a cluster's environment; ``watch``: by the program itself."""
    if environ.get(launch.LAUNCH):
        return "run"
    return "autoload" if environ.get(launch.AUTOLOAD) == "1" else "watch"


def make_recording(config: Config, place: RecordingPlace) -> Recording:
    """
    Raises:
        RunDirectoryError: nothing can be written there.
    """
    try:
        return Recording(config, place, started_by(os.environ))
    except Exception as error:
        let_through(error)
        remove_directory(place.directory)
        with passing(OSError):  # another rank's may be in it
            place.directory.parent.rmdir()
        if not isinstance(error, OSError):
            raise
        raise RunDirectoryError(f"{place.directory} cannot be used: {error}") from error


def announce(recording: Recording) -> None:
    """Once for all ranks, to whoever reads the terminal."""
    if recording.origin.rank == 0:
        say(f"run {recording.config.name} at {recording.config.url}/runs/{recording.run_id}")


def _make_directory(config: Config, rank: Rank, run_id: str) -> Path:
    """This incarnation's directory, at the first safe root: in /dev/shm another user may hold our name."""
    *earlier, last = run_files.find_roots(os.environ, config.data_directory)
    for root in earlier:
        with suppress(RunDirectoryError):
            return run_files.make_rank_directory(root, run_id, rank.rank, wall_clock_ms())
    return run_files.make_rank_directory(last, run_id, rank.rank, wall_clock_ms())


def say(line: str) -> None:
    """Print one line to stderr. A closed stderr is no reason to fail."""
    with passing(OSError, ValueError, AttributeError):
        print(f"underfed: {line}", file=sys.stderr, flush=True)
