"""Accelerate: a tracker that adds figures of data loading to what the program logs, for the trackers after it.

accelerator = Accelerator(log_with=[UnderfedTracker(), "tensorboard"], project_dir="runs")
"""

from __future__ import annotations

from typing import Any

from accelerate.tracking import GeneralTracker

from underfed import stats
from underfed.integrations.scalars import remember, scalars, unharmed
from underfed.trainer import control


class UnderfedTracker(GeneralTracker):  # type: ignore[misc]
    """Comes first in ``log_with``. The configuration that trackers are given becomes the run's; all that ``log()`` is
    given gets ``underfed/data_stall_fraction`` and its like, which the trackers after it then store."""

    name = "underfed"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()
        control.log_by_callback()

    @property
    def tracker(self) -> Any:
        """The figures so far."""
        return stats()

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        unharmed(lambda: remember(values))

    def log(self, values: dict[str, Any], *_: Any, **__: Any) -> None:
        # Accelerate hands the same dictionary to each tracker in turn.
        if isinstance(values, dict):
            unharmed(lambda: values.update({f"underfed/{name}": value for name, value in scalars().items()}))
