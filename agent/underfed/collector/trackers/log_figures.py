"""The process behind ``TrackerWriter``: reads figures line by line, and logs them with each tracker's own library."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from underfed.collector.trackers.line import Line, Log
from underfed.exchange.parts import parse
from underfed.exchange.trackers import MLFLOW, TARGETS, TENSORBOARD, Target, Targets

FAILURES = 20
"""Failures in a row after which a tracker is left alone."""

LONGEST_S = 900
"""How long a line may take, the first with the import of a library: minutes, where others fill the cores. The collector
may be gone by then: a process that hangs ends itself."""


def mlflow_log(target: Target) -> Log:
    from underfed.collector.trackers.mlflow_run import open_run

    return open_run(target)


def tensorboard_log(target: Target) -> Log:
    from underfed.collector.trackers.event_file import open_events

    return open_events(target)


OPEN: Mapping[str, Callable[[Target], Log]] = {MLFLOW: mlflow_log, TENSORBOARD: tensorboard_log}


class Logged:
    """One run of a tracker. Raises nothing."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._log: Log | None = None
        self._failures = 0

    def __call__(self, line: Line) -> None:
        if self._failures == FAILURES:
            return
        try:
            if self._log is None:
                self._log = OPEN[self._target.tracker](self._target)
            self._log(line)
            self._failures = 0
        except Exception as error:
            self._failures += 1
            if self._failures == 1:
                print(f"trackers: {self._target.tracker}: {type(error).__name__}: {error}"[:500], file=sys.stderr)


def main() -> int:
    targets = parse(Targets, json.loads(os.environ.pop(TARGETS)))
    logged = [Logged(each) for each in targets.runs]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for text in sys.stdin:
        parts: dict[str, Any] = json.loads(text)
        for log in logged:
            signal.alarm(LONGEST_S)
            log(Line(**parts))
            signal.alarm(0)
    return 0
