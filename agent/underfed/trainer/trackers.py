"""Which runs of W&B, MLflow and TensorBoard this process logs into: seen in modules that the program imported itself.

Nothing of these is imported, replaced or called in a step. What is found is written down for the collector, which logs
there; W&B's summary can be written only from within.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from underfed.exchange import figures, trackers
from underfed.exchange.guard import Guard
from underfed.exchange.trackers import MLFLOW, SWITCH, TENSORBOARD, WANDB, Target, Targets
from underfed.host.signal_handlers import let_through

PAUSE_S = 5.0
"""Least time between two looks, which come with iterators: epochs may be as short as a millisecond."""

TELLING_PAUSE_S = 60.0
"""Least time between two writes to W&B's summary, which take up to milliseconds."""

EVENT_WRITER = "tensorboard.summary.writer.event_file_writer"
PLACES = 100


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
        self._told: dict[str, Any] = {}
        self._look_due = self._tell_due = 0.0
        self.is_told = False
        """A callback or tracker of ours logs the figures."""

    def name(self, target: Target) -> None:
        """The program says where it logs: what is found of that tracker does not count."""
        self._named = [each for each in self._named if each.tracker != target.tracker] + [target]
        self._look_due = 0.0
        self.look()

    def look(self) -> None:
        """Where an iterator starts: most times this takes less than a microsecond."""
        now = time.monotonic()
        if now < self._look_due or self._is_off:
            return
        self._look_due = now + PAUSE_S
        try:
            self._note()
            if now >= self._tell_due and self._tell_wandb():
                self._tell_due = now + TELLING_PAUSE_S
        except Exception as error:
            let_through(error)
            self._guard.failed("trackers", error)

    def end(self) -> None:
        """The last look: what is known by now."""
        self._look_due = self._tell_due = 0.0
        self.look()

    def _note(self) -> None:
        named = {each.tracker for each in self._named}
        runs = self._named + [each for each in _seen() if each.tracker not in named]
        # One that has ended stays: its last figures may be still to come.
        left = {each.tracker for each in runs}
        runs += [each for each in self._written.runs if each.tracker not in left]
        if runs and (runs != self._written.runs or self.is_told != self._written.is_told):
            places = [each for each in sys.path if os.path.isabs(each)][:PLACES]  # noqa: PTH117 of text
            self._written = Targets(runs, sys.executable or "", places, str(Path.cwd()), self.is_told)
            trackers.write(self._directory, self._written)

    def _tell_wandb(self) -> bool:
        """The verdict and the page, in the summary of W&B's run. Whether there was something new."""
        run = getattr(sys.modules.get(WANDB), "run", None)
        if run is None:
            return False
        found = figures.read(self._figures_path)
        known = {"page": self._page, "bound": found["bound"], "cause": found["cause"]}
        fresh = {f"underfed/{name}": value for name, value in known.items() if value and self._told.get(name) != value}
        if fresh:
            run.summary.update(fresh)
            self._told = known
        return bool(fresh)


def _seen() -> Iterator[Target]:
    if (run := getattr(sys.modules.get(WANDB), "run", None)) is not None:
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
