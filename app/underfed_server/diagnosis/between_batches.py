"""What the training thread was seen to do between batches that is not training, and what is usual against that."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from underfed_server.diagnosis.checkpoints import saves
from underfed_server.facts.costly_lines import IsMeant
from underfed_server.facts.loading import LoaderHotspots, Place
from underfed_server.model import Stage

LEAST_FRACTION = 0.10
"""Of the looks between batches. A share is known to some five points either way: of less, whether it is worth a
sentence is not known."""

LEAST_OF_LOOP = 0.05
"""Of the loop's time, from which such work is worth a sentence: of a loop that mostly waits for data, the time between
batches is little."""

MOST_OF_LINE = 0.5
"""Of the looks at one line of the program, from which all of them are of that work: what else is done there leads to
it."""


@dataclass(frozen=True, slots=True)
class KnownWork:
    found_it: str
    """What looks found the thread doing."""
    seen_as: re.Pattern[str]
    """Any place, written as function, space, file."""
    ends_in: re.Pattern[str]
    """The innermost place."""
    usual: str

    def within(self, between: LoaderHotspots) -> IsMeant:
        """Which stacks show it, with all at a line that mostly shows it: what is one thing has one sum."""
        seen, shown = Counter[_Line](), Counter[_Line]()
        for (_stage, places), looks in between.samples.items():
            count, line = int(looks.sum()), _line_of(places, between)
            seen[line] += count
            shown[line] += count * self._shows(places)
        whole = {line for line in shown if line is not None and shown[line] > MOST_OF_LINE * seen[line]}

        def is_meant(stage: Stage, places: tuple[Place, ...]) -> bool:
            is_shown = self._shows(places) or _line_of(places, between) in whole
            return is_shown and not saves(stage, places)

        return is_meant

    def _shows(self, places: tuple[Place, ...]) -> bool:
        texts = [f"{function} {file}" for function, file, _line in places]
        return any(map(self.seen_as.search, texts)) or any(map(self.ends_in.search, texts[-1:]))


_Line = tuple[str, "int | None"] | None
"""File and line; ``None``: none of the program's is in the stack."""


def _line_of(places: tuple[Place, ...], between: LoaderHotspots) -> _Line:
    return next(((file, line) for _function, file, line in reversed(places) if file in between.own_files), None)


WORKS = (
    KnownWork(
        found_it="logging",
        seen_as=re.compile(
            r" (logging/__init__\.py$|logging/handlers\.py$|torch/utils/tensorboard/|(wandb|mlflow|tensorboardX|tqdm"
            r"|comet_ml|neptune|clearml|aim|loguru|rich)/)"
            r"|^(print|(logging|logger|log|wandb|mlflow|writer|tqdm)\.\w+) "
            r"|^(\w+\.)*(log_metrics?|log_dict|add_scalars?|add_histogram|add_images?|add_figure) "
            r"|^(json\.)?dumps? |^JSONEncoder\.\w+ "
        ),
        ends_in=re.compile(r"^(\w+\.)*(write|writelines|writerows?|flush) "),
        usual="log in one step of many, or let a thread write what is logged "
        "(https://docs.python.org/3/howto/logging-cookbook.html#dealing-with-handlers-that-block).",
    ),
    KnownWork(
        found_it="reading values back from tensors",
        seen_as=re.compile(
            r"^(Tensor\.)?__(iter|format|repr|array|contains)__ torch/_tensor\.py$|torch/_tensor_str\.py$"
        ),
        ends_in=re.compile(r"^(\w+\.)*(item|tolist|cpu|numpy|synchronize) "),
        usual="add values up on the device, and read them in one step of many: the program waits there for all that "
        "the device has still to do (https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html).",
    ),
)
"""Saving checkpoints has sentences of its own."""
