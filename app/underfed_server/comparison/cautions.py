"""What differs besides the loader, so that a ratio of speeds may be of something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from underfed_server.comparison.against import Against
from underfed_server.comparison.side import Side
from underfed_server.comparison.wording import duration_span
from underfed_server.model import Caution, Setting

MODEL_KEYS = frozenset({"model", "model_name", "arch", "architecture", "net", "network", "backbone"})
"""Last words of configuration keys by which jobs name their model."""

COMPUTE_FACTOR = 1.25
"""Runs of one model on one GPU compute equally long per step; noise and shared cores seldom exceed this factor."""


def cautions_of(sides: Sequence[Side], found: Sequence[Against | None]) -> list[Caution]:
    """``found``: for each run but the first, how it compares with the first."""
    set_up = [*_batch_sizes(sides), *_models(sides), *_gpus(sides), *_world_sizes(sides)]
    # Each of those already explains why compute differs.
    return set_up or list(_compute(sides, found))


def _batch_sizes(sides: Sequence[Side]) -> Iterator[Caution]:
    values = _distinct([side.batch_size for side in sides])
    if len(values) > 1:
        yield Caution(
            of="batch_size",
            sentence=f"Batch sizes differ ({_list(values)}): samples per second are compared, not steps.",
        )


def _models(sides: Sequence[Side]) -> Iterator[Caution]:
    for key in dict.fromkeys(key for side in sides for key in side.run.config if _names_model(key)):
        values = _distinct([side.run.config.get(key) for side in sides])
        if len(values) > 1:
            yield Caution(of="model", sentence=f"Models differ ({key}: {_list(values)}): so does the work of a step.")
    scripts = _distinct([side.run.script for side in sides])
    if len(scripts) > 1:
        yield Caution(of="model", sentence=f"Scripts differ ({_list(scripts)}): they may not train the same model.")


def _gpus(sides: Sequence[Side]) -> Iterator[Caution]:
    names = _distinct([side.run.gpu_name if side.run.gpus else "no GPU" for side in sides])
    if len(names) > 1:
        yield Caution(of="gpu", sentence=f"GPUs differ ({_list(names)}): part of the difference may be due to them.")


def _world_sizes(sides: Sequence[Side]) -> Iterator[Caution]:
    sizes = _distinct([side.run.world_size for side in sides])
    if len(sizes) > 1:
        yield Caution(
            of="world_size", sentence=f"Numbers of ranks differ ({_list(sizes)}): one rank of each run is compared."
        )


def _compute(sides: Sequence[Side], found: Sequence[Against | None]) -> Iterator[Caution]:
    """The work of a step differs, and nothing in the configuration says why."""
    for side, each in zip(sides[1:], found, strict=True):
        moved = [shift for shift in (*each.reasons, *each.opposed) if shift.part == "compute"] if each else []
        for shift in moved:
            larger, smaller = max(shift.before_us, shift.after_us), min(shift.before_us, shift.after_us)
            if larger > COMPUTE_FACTOR * smaller:
                span = duration_span(shift.before_us, shift.after_us)
                yield Caution(
                    of="compute",
                    sentence=f"In {side.label} compute went from {span}: its steps may not do the same work.",
                )


def _names_model(key: str) -> bool:
    return key.lower().replace("/", ".").split(".")[-1] in MODEL_KEYS


def _distinct(values: Sequence[Setting]) -> list[Setting]:
    """What is not known does not count as different."""
    return list(dict.fromkeys(value for value in values if value is not None))


def _list(values: Sequence[Setting]) -> str:
    return ", ".join(str(value) for value in values)
