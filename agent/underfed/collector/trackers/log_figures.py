"""The process behind ``TrackerWriter``: reads figures line by line, and logs them with each tracker's own library."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from underfed.exchange.parts import parse
from underfed.exchange.trackers import MLFLOW, TARGETS, TENSORBOARD, Target, Targets

FAILURES = 20
"""Failures in a row after which a tracker is left alone."""

LONGEST_S = 900
"""How long a line may take, the first with the import of a library: minutes, where others fill the cores. The collector
may be gone by then: a process that hangs ends itself."""


PREFIX = "system/underfed/"
"""MLflow shows what begins with ``system/`` apart, beside what it samples itself."""


Log = Callable[[int, int, Mapping[str, float], Mapping[str, str]], None]
"""Logs Unix time in milliseconds, steps, scalars and words with a tracker's own library, which may raise anything."""


def mlflow_log(target: Target) -> Log:
    """Among the system metrics of its run: ``system/underfed/data_stall_fraction`` and its like."""
    from mlflow.entities import Metric, RunTag
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=target.url)

    def log(at_ms: int, steps: int, scalars: Mapping[str, float], words: Mapping[str, str]) -> None:
        metrics = [Metric(PREFIX + name, value, at_ms, steps) for name, value in scalars.items()]
        tags = [RunTag(f"underfed.{name}", word) for name, word in words.items()]
        client.log_batch(target.run, metrics=metrics, tags=tags)

    return log


def tensorboard_log(target: Target) -> Log:
    from underfed.collector.trackers.event_file import open_events

    return open_events(target)


OPEN: Mapping[str, Callable[[Target], Log]] = {MLFLOW: mlflow_log, TENSORBOARD: tensorboard_log}


class Logged:
    """One run of a tracker. Raises nothing."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._log: Log | None = None
        self._logged: Mapping[str, str] = {}
        self._failures = 0

    def __call__(self, at_ms: int, steps: int, scalars: Mapping[str, float], words: Mapping[str, str]) -> None:
        """``words``: ``page``, ``bound`` and ``cause``, as far as they are known; those that are new are logged."""
        if self._failures == FAILURES:
            return
        try:
            if self._log is None:
                self._log = OPEN[self._target.tracker](self._target)
            fresh = {name: word for name, word in words.items() if self._logged.get(name) != word}
            self._log(at_ms, steps, scalars, fresh)
            self._logged = {**self._logged, **fresh}
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
            log(**parts)
            signal.alarm(0)
    return 0
