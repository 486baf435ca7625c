"""The process that logs a rank's figures with the trackers' own libraries: started where there is somewhere to log to.

It runs in the Python that the training runs in, beside it and beside the collector: these libraries take a second to
import, and a hundred megabytes, and a tracking server may hang.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from underfed.exchange import figures, trackers
from underfed.exchange.parts import as_text, read_part
from underfed.exchange.trackers import MLFLOW, TARGETS, TENSORBOARD, Target, Targets
from underfed.host.clock import wall_clock_ms
from underfed.host.files import Changes

EVERY_S = 10.0
"""Between two logs: charts of a run are read in minutes, as MLflow's and W&B's own of the system are."""

LIMITS = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
"""Unless set: MLflow's own would try for minutes, and the next figures come in ten seconds."""

START = (
    "import sys; sys.path += sys.argv[1:]; from underfed.collector.trackers.log_figures import main; sys.exit(main())"
)
"""With ``-I``: no current directory and no PYTHONPATH before the standard library; the training's places come last."""


class TrackerWriter:
    """Of one rank. Raises nothing: what fails is in the collector's log, and the training's own logging goes on."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / trackers.FILE
        self._changes = Changes(self._path)
        self.targets = Targets()
        self._process: subprocess.Popen[bytes] | None = None
        self._logged: Sequence[Target] = ()
        self._published: Mapping[str, Any] | None = None
        self._logged_steps = 0
        self._due = 0.0

    @property
    def pid(self) -> int | None:
        """Of the process that logs; ``None``: there is none."""
        return None if self._process is None else self._process.pid

    def read(self) -> None:
        """Read what the training process found, where that changed."""
        with suppress(OSError, ValueError, TypeError):
            if self._changes.has_changed():
                self.targets = read_part(self._path, Targets)

    @property
    def has_runs(self) -> bool:
        """Whether there is one that gets the verdict from here."""
        return bool(self._runs) and not self.targets.are_words_told

    def pass_on(self, published: Mapping[str, Any], *, is_urgent: bool = False) -> None:
        """Pass on what was just published for the training process, not more often than it is logged.

        ``is_urgent``: at once, since its process has ended.
        """
        self._published = published
        runs = self._runs if self.has_runs else []
        if self.targets.is_told and published["bound"] is None:
            runs = []  # the program logs the figures, and there is no verdict to log
        if runs != self._logged:
            self._restart(runs)
        self._notice_end()
        if self._process is not None and published["steps"] and (is_urgent or time.monotonic() >= self._due):
            self._due = time.monotonic() + EVERY_S
            self._write(published)

    def end(self) -> None:
        """Pass on the newest figures, and the verdict or why there is none. The process logs them and ends."""
        if self._published is not None:
            self._write(self._published, is_last=True)
        self._close()

    @property
    def _runs(self) -> Sequence[Target]:
        return [each for each in self.targets.runs if each.tracker in (MLFLOW, TENSORBOARD)]

    def _close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def wait(self, timeout_s: float) -> None:
        """For its end; a server that hangs ends it by itself later."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)

    def _restart(self, runs: Sequence[Target]) -> None:
        self._close()
        self.wait(0.0)
        self._process, self._logged, self._due, self._logged_steps = None, runs, 0.0, 0
        if runs and self.targets.interpreter:
            try:
                self._process = start(self.targets, runs)
            except OSError as error:
                print(f"trackers: {self.targets.interpreter} cannot be started: {error}", file=sys.stderr)

    def _notice_end(self) -> None:
        """It is not started again: what ended it would end it again."""
        if self._process is not None and (status := self._process.poll()) is not None:
            print(f"trackers: the process that logs has ended with {status}", file=sys.stderr)
            self._process = None

    def _write(self, published: Mapping[str, Any], *, is_last: bool = False) -> None:
        """A line at a time, and none while the process does not read: its pipe holds some minutes of them."""
        if self._process is not None and self._process.stdin is not None:
            are_figures_new = not self.targets.is_told and published["steps"] != self._logged_steps
            self._logged_steps = published["steps"]
            with suppress(OSError, ValueError):
                os.write(self._process.stdin.fileno(), as_line(published, has_figures=are_figures_new, is_last=is_last))


def as_line(published: Mapping[str, Any], *, has_figures: bool = True, is_last: bool = False) -> bytes:
    """Shorter than what a pipe takes as a whole, 4,096 bytes. ``has_figures``: those were not logged yet."""
    line = {
        "at_ms": wall_clock_ms(),
        "steps": published["steps"],
        "scalars": figures.scalars(published) if has_figures else {},
        "words": figures.words(published, is_last=is_last),
    }
    return json.dumps(line).encode() + b"\n"


def start(targets: Targets, runs: Sequence[Target]) -> subprocess.Popen[bytes]:
    """
    Raises:
        OSError: it cannot be started.
    """
    here = str(Path(__file__).parents[3])
    process = subprocess.Popen(
        [targets.interpreter, "-I", "-c", START, *targets.places, here],
        cwd=targets.directory,
        env={**LIMITS, **os.environ, TARGETS: as_text(Targets(list(runs))), "UNDERFED_DISABLED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    if process.stdin is not None:
        os.set_blocking(process.stdin.fileno(), False)
    return process
