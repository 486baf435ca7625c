"""What the training thread was seen to do between batches that is not training, and what is usual against that."""

from __future__ import annotations

import re
from dataclasses import dataclass

from underfed_server.facts.costly_lines import IsMeant
from underfed_server.facts.loading import Place
from underfed_server.model import Stage

LEAST_FRACTION = 0.10
"""Of the looks between batches. A share is known to some five points either way: of less, whether it is worth a
sentence is not known."""


@dataclass(frozen=True, slots=True)
class Work:
    found_it: str
    """What looks found the thread doing."""
    seen_as: re.Pattern[str]
    """A place, written as function, space, file."""
    usual: str
    is_innermost: bool = False
    """Only the innermost place counts."""

    @property
    def is_meant(self) -> IsMeant:
        def is_meant(_stage: Stage, places: tuple[Place, ...]) -> bool:
            looked_at = places[-1:] if self.is_innermost else places
            return any(self.seen_as.search(f"{function} {file}") for function, file, _line in looked_at)

        return is_meant


WORKS = (
    Work(
        found_it="logging",
        seen_as=re.compile(
            r" (logging/__init__\.py$|logging/handlers\.py$|torch/utils/tensorboard/|(wandb|mlflow|tensorboardX|tqdm"
            r"|comet_ml|neptune|clearml|aim|loguru|rich)/)"
            r"|^(print|(logging|logger|log|wandb|mlflow|writer|tqdm)\.\w+) "
            r"|^(\w+\.)*(log_metrics?|log_dict|add_scalars?|add_histogram|add_images?|add_figure) "
        ),
        usual="log in one step of many, or let a thread write what is logged "
        "(https://docs.python.org/3/howto/logging-cookbook.html#dealing-with-handlers-that-block).",
    ),
    Work(
        found_it="reading values back from tensors",
        seen_as=re.compile(r"^(\w+\.)*(item|tolist|cpu|synchronize) "),
        usual="add values up on the device, and read them in one step of many: the program waits there for all that "
        "the device has still to do (https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html).",
        is_innermost=True,
    ),
)
"""Saving checkpoints is told by itself."""
