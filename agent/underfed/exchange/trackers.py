"""Where a training process logs its metrics with other tools: it writes that down, and the collector logs there too."""

from __future__ import annotations

from dataclasses import dataclass, field

FILE = "trackers.json"

SWITCH = "UNDERFED_TRACKERS"
"""``0``: trackers get nothing that the program did not ask for."""

TARGETS = "UNDERFED_TRACKER_TARGETS"
"""For the process that logs: as a variable, since an address may hold a password, and everybody sees a command line."""

WANDB, MLFLOW, TENSORBOARD = "wandb", "mlflow", "tensorboard"


@dataclass(frozen=True, slots=True)
class Target:
    """A run of a tracker, as its own library names it."""

    tracker: str
    run: str
    """Its id; of TensorBoard the directory with the run's events, as the program names it."""
    url: str | None = None
    """W&B's page of the run; MLflow's tracking server or database, which may hold a password."""
    experiment: str | None = None
    directory: str | None = None
    """TensorBoard's, absolute."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Of one training process; only for its collector."""

    runs: list[Target] = field(default_factory=list)
    interpreter: str = ""
    """The Python that has these libraries, ..."""
    places: list[str] = field(default_factory=list)
    """... and the directories that it finds them in."""
    directory: str = "/"
    """What addresses such as ``sqlite:///mlflow.db`` are relative to."""
    is_told: bool = False
    """The program logs the figures itself, by a callback or tracker of ours, ..."""
    are_words_told: bool = False
    """... and the verdict and the page, too."""
