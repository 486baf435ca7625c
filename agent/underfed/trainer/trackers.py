"""Which runs of W&B, MLflow and TensorBoard this process logs into: seen in modules that the program imported itself.

Nothing of these is imported, replaced or called in a step. What is found is written down for the collector, which logs
there; W&B's summary can be written only from within, and only until its run ends.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from underfed.exchange import figures, run_files, trackers
from underfed.exchange.guard import Guard
from underfed.exchange.parts import write_part
from underfed.exchange.trackers import MLFLOW, SWITCH, TENSORBOARD, WANDB, Target, Targets
from underfed.host.signal_handlers import let_through, passing
from underfed.trainer.collector_process import is_served

PAUSE_S = 5.0
"""Least time between two looks, which come with iterators: epochs may be as short as a millisecond."""

SUMMARY_PAUSE_S = 60.0
"""Least time between two writes to W&B's summary, which take up to milliseconds."""

MOST_AWAITED_S = 3.0
"""How long the end of a tracker's run waits for the verdict on all of its steps."""

POLL_S = 0.02

EVENT_WRITER = "tensorboard.summary.writer.event_file_writer"
PLACES = 100


class Summary:
    """Of a run of W&B."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self.is_last_written = False
        self._written: dict[str, str] = {}

    def write(self, words: Mapping[str, str]) -> bool:
        """Whether there was something new."""
        fresh = {f"underfed/{name}": word for name, word in words.items() if self._written.get(name) != word}
        if fresh:
            self.run.summary.update(fresh)
            self._written.update(words)
        return bool(fresh)


class ProcessTrackers:
    """Of one recording. Raises nothing."""

    def __init__(self, directory: Path, page: str, guard: Guard) -> None:
        self._directory = directory
        self._figures_path = str(directory / figures.FILE)
        self._page = page
        self._guard = guard
        self._is_off = os.environ.get(SWITCH) == "0"
        self._written = Targets()
        self._named: list[Target] = []
        self._pid = os.getpid()
        self._wandb: Summary | None = None
        """Of the run that was seen last."""
        self._look_due = self._summary_due = 0.0
        self._has_ended = False
        self.is_told = self.are_words_told = False
        """A callback or tracker of ours logs the figures, and the verdict and the page."""

    def name(self, target: Target) -> None:
        """The program says where it logs: what is found of that tracker does not count."""
        self._named = [each for each in self._named if each.tracker != target.tracker] + [target]
        self._look_due = 0.0
        self.look()

    def look(self) -> None:
        """Where an iterator starts: most times this takes less than a microsecond."""
        now = time.monotonic()
        run = _wandb_run()
        is_seen = run is (self._wandb and self._wandb.run)
        if self._is_off or (now < self._look_due and is_seen):
            return
        self._look_due = now + PAUSE_S
        try:
            self._note()
            if not is_seen:
                self._wandb, self._summary_due = None if run is None else self._summary_of(run), 0.0
            if self._wandb is not None and now >= self._summary_due and self._wandb.write(figures.words(self._read())):
                self._summary_due = now + SUMMARY_PAUSE_S
        except Exception as error:
            let_through(error)
            self._guard.failed("trackers", error)

    def last_words(self) -> dict[str, str]:
        """What is said of a run that ends: the page, and the verdict or why there is none.

        It waits, for ``MOST_AWAITED_S`` at most, until the collector has read all steps and the service has judged
        them. It does not where they are too few, or the service does not answer: then an earlier verdict is the last.
        """
        self._await_verdict()
        return figures.words(self._read(), is_last=True)

    def end(self) -> None:
        """The last look: what is known by now."""
        self._look_due = self._summary_due = 0.0
        self.look()
        if self._wandb is not None:
            self._ends(self._wandb)
        self._has_ended = True

    def _summary_of(self, run: Any) -> Summary:
        summary = Summary(run)
        call_before_end(run, lambda: self._ends(summary))
        # W&B ends its run at exit, too, without calling that. It registered this earlier, and so does it later.
        atexit.register(self._ends, summary)
        return summary

    def _ends(self, summary: Summary) -> None:
        """A run of W&B, or this recording before it."""
        if self._has_ended or summary.is_last_written or os.getpid() != self._pid:
            return
        summary.is_last_written = True
        try:
            summary.write(self.last_words())
        except Exception as error:
            let_through(error)
            self._guard.failed("trackers", error)

    def _read(self) -> Mapping[str, Any]:
        return {**figures.read(self._figures_path), "page": self._page}

    def _await_verdict(self) -> None:
        mark = self._directory / run_files.VERDICT_WANTED
        until = time.monotonic() + MOST_AWAITED_S
        with passing(OSError):
            mark.touch()
        while mark.exists() and time.monotonic() < until and is_served(self._directory.parent):
            time.sleep(POLL_S)
        with passing(OSError):
            mark.unlink(missing_ok=True)

    def _note(self) -> None:
        named = {each.tracker for each in self._named}
        runs = self._named + [each for each in _seen() if each.tracker not in named]
        # One that has ended stays: its last figures may be still to come.
        left = {each.tracker for each in runs}
        runs += [each for each in self._written.runs if each.tracker not in left]
        by_program = self.is_told, self.are_words_told
        if runs and (runs != self._written.runs or by_program != (self._written.is_told, self._written.are_words_told)):
            places = [each for each in sys.path if os.path.isabs(each)][:PLACES]  # noqa: PTH117 of text
            self._written = Targets(runs, sys.executable or "", places, str(Path.cwd()), *by_program)
            write_part(self._directory / trackers.FILE, self._written)


def _wandb_run() -> Any:
    """The process's current one; ``None``: there is none."""
    return getattr(sys.modules.get(WANDB), "run", None)


def call_before_end(run: Any, call: Callable[[], None]) -> None:
    """Have W&B call it where the program ends this run, before its summary is closed: by its own list of what it calls
    then, as its notebooks and integrations do. A release that has none calls nothing."""
    module: Any = sys.modules.get("wandb.sdk.wandb_run")
    calls = getattr(run, "_teardown_hooks", None)
    if isinstance(calls, list) and hasattr(module, "TeardownHook"):
        calls.append(module.TeardownHook(call, module.TeardownStage.EARLY))


def _seen() -> Iterator[Target]:
    if (run := _wandb_run()) is not None:
        yield Target(WANDB, str(run.id), run.url or None)
    if (fluent := sys.modules.get("mlflow.tracking.fluent")) is not None and (run := fluent.active_run()) is not None:
        uri = sys.modules["mlflow"].get_tracking_uri()
        yield Target(MLFLOW, str(run.info.run_id), str(uri), str(run.info.experiment_id))
    if EVENT_WRITER in sys.modules and (directory := _events_directory()) is not None:
        yield events_in(directory)


def events_in(directory: str) -> Target:
    return Target(TENSORBOARD, directory, directory=str(Path(directory).absolute()))


def _events_directory() -> str | None:
    """Of the first writer of events, by its thread: writers are listed nowhere. Directories of other hosts
    (``gs://…``) are left alone."""
    for thread in threading.enumerate():
        writer = getattr(getattr(thread, "_record_writer", None), "_writer", None)
        file = getattr(writer, "filename", None)
        if isinstance(file, (str, bytes)) and "://" not in (name := os.fsdecode(file)) and "tfevents" in name:
            return str(Path(name).parent)
    return None
