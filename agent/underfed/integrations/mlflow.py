"""MLflow: figures among a run's system metrics, the verdict and the page's address in its tags.

A run that the program starts with ``mlflow.start_run()`` is found where an iterator starts, and needs no line. One of
which only ``MlflowClient`` knows is named:

    underfed.integrations.mlflow.log_to(run.info.run_id, tracking_uri)

The collector has them logged every ten seconds, by a process that imports MLflow; the training process logs nothing.
"""

from __future__ import annotations

from underfed.exchange.trackers import MLFLOW, Target
from underfed.trainer import control


def log_to(run_id: str, tracking_uri: str | None = None, experiment_id: str | None = None) -> None:
    """Log figures to this run. ``tracking_uri``: as ``mlflow.get_tracking_uri()`` has it, if none is given;
    ``experiment_id`` is for the address of the run's page.

    Raises:
        ImportError: MLflow cannot be imported.
        ConfigError: an ``UNDERFED_`` variable cannot be used (a ``ValueError``).
    """
    import mlflow

    control.name_tracker(Target(MLFLOW, run_id, tracking_uri or mlflow.get_tracking_uri(), experiment_id))
