"""What ``--tune`` says in the terminal, and writes for the collector."""

from __future__ import annotations

import atexit
import os
from multiprocessing import parent_process, util
from typing import TYPE_CHECKING

from underfed.exchange import launch, tuning
from underfed.exchange.launch import Say
from underfed.exchange.parts import write_part
from underfed.host.signal_handlers import let_through, passing
from underfed.trainer.hooks.watched_loader import WatchedLoader
from underfed.trainer.tuning.conductor import Conductor
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.report import end_lines, facts_of, kept_line

if TYPE_CHECKING:
    from underfed.trainer.recording import Recording


class Reporter:
    """Of one process. Of the ranks of a host the leading one writes, which has a conductor."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self.recording: Recording | None = None
        self.watched: WatchedLoader | None = None
        self.conductor: Conductor | None = None
        self._pid = os.getpid()
        self._has_reported_end = False
        self._failures: set[str] = set()

    def begin(self, conductor: Conductor) -> None:
        self.conductor = conductor
        # A child of multiprocessing ends without atexit, but runs these: before the recording's, which ends it.
        if parent_process() is not None:
            util.Finalize(None, self.end, exitpriority=1)
        else:
            atexit.register(self.end)
        self.write()

    def write(self) -> None:
        watched, conductor, recording = self.watched, self.conductor, self.recording
        if watched is None or conductor is None or recording is None:
            return
        facts = facts_of(conductor, watched, recording.origin.origin_ns)
        launcher = launch.directory_of(os.environ)
        try:
            write_part(watched.directory / tuning.FILE, facts)
            if launcher is not None:
                # A signal may end this process, and the collector its directory, before the launcher looks.
                write_part(launcher / tuning.FILE, facts)
        except OSError as error:
            let_through(error)
            watched.guard.count("tune", error)

    def left_alone(self, reason: str, setting: LoaderSetting | None, *, are_workers_refused: bool = False) -> None:
        self.say(f"--tune leaves this loader alone: {reason}")
        self._write_alone(tuning.REFUSED, reason, setting, reason if are_workers_refused else None)

    def failed(self, error: Exception, setting: LoaderSetting | None) -> None:
        """An error of ours."""
        reason = f"{type(error).__name__}: {error}"[:400]
        self.say(f"--tune ended by an error of its own, the loader goes on as it is: {reason}")
        with passing(Exception):
            self._write_alone(tuning.FAILED, reason, setting)

    def not_started(self, reason: str) -> None:
        """Workers of a setting; the next one may fail for the same reason."""
        if reason not in self._failures:
            self._failures.add(reason)
            self.say(f"--tune: {reason}; the loader goes on as it was")

    def no_workers(self, reason: str | None) -> None:
        """Why a data set that is loaded without workers is given none, so that none are advised either."""
        if self.conductor is not None:
            self.conductor.why_no_workers = reason

    def kept(self) -> None:
        facts = self.watched.facts if self.watched is not None else None
        is_iterable = facts is not None and facts.dataset_kind == "iterable"
        if self.conductor is not None and (line := kept_line(self.conductor, is_iterable=is_iterable)) is not None:
            self.say(line)

    def end(self) -> None:
        """Once, at the end: the lines to write into the script."""
        if self._has_reported_end or self.conductor is None or os.getpid() != self._pid:
            return
        self._has_reported_end = True
        atexit.unregister(self.end)
        source = self.watched.facts.source if self.watched is not None and self.watched.facts is not None else None
        for line in end_lines(self.conductor, source):
            self.say(line)
        launch.report(os.environ, launch.TUNED)
        self.write()

    def _write_alone(
        self, status: str, reason: str, setting: LoaderSetting | None, why_no_workers: str | None = None
    ) -> None:
        if self.conductor is not None:
            self.conductor.refuse(reason, status)
        elif self.recording is not None and self.recording.facts.local_rank:
            return  # another rank of the host writes
        elif self.watched is not None and setting is not None:
            began = setting.settings()
            facts = tuning.TuningFacts(self.watched.name, status, began, reason, why_no_workers=why_no_workers)
            write_part(self.watched.directory / tuning.FILE, facts)
