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
        self._last = b""
        self._due = 0.0

    @property
    def pid(self) -> int | None:
        """Of the process that logs; ``None``: there is none."""
        return None if self._process is None else self._process.pid

    def read(self) -> None:
        """Read what the training process found, where that changed."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            if self._changes.has_changed():
                self.targets = trackers.parse(self._path.read_text())

    def tell(self, told: Mapping[str, Any]) -> None:
        """Pass on what was just published for the training process, not more often than it is logged."""
        runs = (
            []
            if self.targets.is_told
            else [each for each in self.targets.runs if each.tracker in (MLFLOW, TENSORBOARD)]
        )
        if runs != self._logged:
            self._restart(runs)
        self._notice_end()
        if self._process is not None and told["steps"]:
            self._last = as_line(told)
            if time.monotonic() >= self._due:
                self._due = time.monotonic() + EVERY_S
                self._write()

    def end(self) -> None:
        """Pass on the newest figures. The process logs them and ends."""
        self._write()
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def wait(self, timeout_s: float) -> None:
        """For its end; a server that hangs ends it by itself later."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)

    def _restart(self, runs: Sequence[Target]) -> None:
        self.end()
        self.wait(0.0)
        self._process, self._logged, self._due = None, runs, 0.0
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

    def _write(self) -> None:
        """A line at a time, and none while the process does not read: its pipe holds some minutes of them."""
        if self._process is None or self._process.stdin is None or not self._last:
            return
        with suppress(OSError, ValueError):
            os.write(self._process.stdin.fileno(), self._last)
        self._last = b""


def as_line(told: Mapping[str, Any]) -> bytes:
    """Shorter than what a pipe takes as a whole, 4,096 bytes."""
    line = {
        "at_ms": wall_clock_ms(),
        "steps": told["steps"],
        "scalars": figures.scalars(told),
        "words": {name: told[name] for name in ("page", "bound", "cause") if told[name] is not None},
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
        env={**LIMITS, **os.environ, TARGETS: trackers.as_text(Targets(list(runs))), "UNDERFED_DISABLED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    if process.stdin is not None:
        os.set_blocking(process.stdin.fileno(), False)
    return process
