"""One run as it is compared: its pace and the parts of its mean step, each with its standard error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from underfed_server.advice.proof.pace import Blocks, Pace, epoch_blocks, pace, standard_error, step_blocks
from underfed_server.diagnosis.measures import anatomy_of
from underfed_server.facts.record import RankFacts
from underfed_server.model import Anatomy, Diagnosis, EpochStart, Run
from underfed_server.store.reading.stacks import Samples

Basis = Literal["epochs", "steps"]
Part = Literal["wait", "copy", "compute"]

SHORTEST = 6
"""Characters of a shortened run id: as many as a person would type."""


@dataclass(frozen=True, slots=True)
class Side:
    """What is known of a run before it is compared with another. ``steps`` is ``None`` where ``why_not`` says why."""

    run: Run
    label: str
    diagnosis: Diagnosis | None
    steps: RankFacts | None
    why_not: str | None
    epochs: tuple[EpochStart, ...] = ()
    samples: Samples = field(default_factory=dict)
    """Of its loading, by the stack that was seen."""
    why_unsampled: str | None = None

    @property
    def batch(self) -> float | None:
        """Samples per step of the judged rank: as counted, else as configured."""
        known = self.diagnosis
        if known is None or not known.samples_per_s or not known.steps_per_s:
            return self._set_batch_size
        return known.samples_per_s / known.steps_per_s

    @property
    def batch_size(self) -> int | None:
        """As configured, else as counted: a smaller last batch does not change it."""
        return self._set_batch_size or (None if self.batch is None else round(self.batch))

    @property
    def _set_batch_size(self) -> int | None:
        name = self.diagnosis.loader if self.diagnosis else None
        return next((each.batch_size for each in self.run.loaders if each.loader == name), None)


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the mean step, and its standard error."""

    us: float
    error_us: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured over the blocks of steps that all runs are compared by."""

    pace: Pace
    anatomy: Anatomy
    parts: Mapping[Part, Share]
    """Without ``copy`` where copies were not timed: compute then includes them."""


def common_basis(sides: Sequence[RankFacts]) -> Basis:
    """Whole epochs where every run has some, as predictions count them."""
    return "epochs" if sides and all(epoch_blocks(each.steps) for each in sides) else "steps"


def measure(rank: RankFacts, basis: Basis) -> Measured | None:
    """``None``: the rank has too few steps."""
    blocks = epoch_blocks(rank.steps) if basis == "epochs" else step_blocks(rank.steps)
    if blocks is None:
        return None
    whole = _anatomy(rank, [np.concatenate(blocks)])[0]
    return Measured(pace(rank.steps, blocks), whole, _parts(whole, _anatomy(rank, blocks)))


def _anatomy(rank: RankFacts, blocks: Blocks) -> list[Anatomy]:
    return [anatomy_of(rank.at(block)) for block in blocks]


def _parts(whole: Anatomy, blocks: Sequence[Anatomy]) -> dict[Part, Share]:
    known: dict[Part, Callable[[Anatomy], int | None]] = {
        # For all loaders of the loop.
        "wait": lambda each: each.data_wait_us + (each.others_wait_us or 0),
        "compute": lambda each: each.compute_us,
    }
    known |= {"copy": lambda each: each.h2d_exposed_us} if whole.h2d_exposed_us is not None else {}
    return {part: _share(of(whole) or 0, [of(each) for each in blocks]) for part, of in known.items()}


def _share(whole_us: int, blocks_us: Sequence[int | None]) -> Share:
    """Blocks in which the part was not measured are left out of the error."""
    seen = np.array([each for each in blocks_us if each is not None], dtype=np.float64)
    return Share(float(whole_us), standard_error(seen) if len(seen) > 1 else float("inf"))


def labels_of(runs: Sequence[Run]) -> list[str]:
    names = [run.name for run in runs]
    ids = [run.run_id for run in runs]
    return [run.name if names.count(run.name) == 1 else _with_run_id(run.name, run.run_id, ids) for run in runs]


def _with_run_id(name: str, run_id: str, ids: Sequence[str]) -> str:
    """A run id that begins with the name is label enough."""
    if run_id.startswith(name):
        return run_id
    length = next(
        (size for size in range(SHORTEST, len(run_id)) if sum(one.startswith(run_id[:size]) for one in ids) == 1),
        len(run_id),
    )
    return f"{name} ({run_id[:length]})"
