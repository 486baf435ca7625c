"""Logs figures into a run of MLflow, among its system metrics: ``system/underfed/data_stall_fraction`` and its like."""

from __future__ import annotations

from mlflow.entities import Metric, RunTag
from mlflow.tracking import MlflowClient

from underfed.collector.trackers.line import Line, Log
from underfed.exchange.trackers import Target

PREFIX = "system/underfed/"
"""MLflow shows what begins with ``system/`` apart, beside what it samples itself."""


def open_run(target: Target) -> Log:
    client = MlflowClient(tracking_uri=target.url)
    logged: dict[str, str] = {}

    def log(line: Line) -> None:
        metrics = [Metric(PREFIX + name, value, line.at_ms, line.steps) for name, value in line.scalars.items()]
        fresh = {name: word for name, word in line.words.items() if logged.get(name) != word}
        tags = [RunTag(f"underfed.{name}", word) for name, word in fresh.items()]
        client.log_batch(target.run, metrics=metrics, tags=tags)
        logged.update(fresh)

    return log
