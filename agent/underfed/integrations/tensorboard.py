"""TensorBoard: figures, the verdict and the page's address as events of their own, in ``underfed`` below the program's.

The directory of PyTorch's ``SummaryWriter`` is found where an iterator starts, and needs no line. Another one, such as
tensorboardX's, is named:

    underfed.integrations.tensorboard.log_to("runs/first")

The collector has them written every ten seconds, by a process that imports the tensorboard package; where the training
environment has none, nothing is written, and the collector's log says so. The training process writes nothing.
"""

from __future__ import annotations

import os

from underfed.trainer import control
from underfed.trainer.trackers import events_in


def log_to(directory: str | os.PathLike[str]) -> None:
    """Write figures to ``directory/underfed``, on a disk.

    Raises:
        ConfigError: an ``UNDERFED_`` variable cannot be used (a ``ValueError``).
    """
    control.name_tracker(events_in(os.fspath(directory)))
