"""What differs besides the loader, so that a ratio of speeds may be of something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from underfed_server.comparison.against import Against
from underfed_server.comparison.side import Side
from underfed_server.comparison.wording import duration_span
from underfed_server.model import Caution, CautionOf, Setting

MODEL_KEYS = frozenset({"model", "model_name", "arch", "architecture", "net", "network", "backbone"})
"""Last words of configuration keys by which jobs name their model."""

COMPUTE_FACTOR = 1.25
"""Runs of one model on one GPU compute equally long per step; noise and shared cores seldom exceed this factor."""


def cautions_of(sides: Sequence[Side], found: Sequence[Against | None]) -> list[Caution]:
    """``found``: for each run but the first, how it compares with the first."""
    # Each of these already explains why compute differs.
    return list(_set_up(sides)) or list(_compute(sides, found))


def _set_up(sides: Sequence[Side]) -> Iterator[Caution]:
    so = "samples per second are compared, not steps"
    yield from _differing("batch_size", "Batch sizes", [side.batch_size for side in sides], so)
    for key in dict.fromkeys(key for side in sides for key in side.run.config if _names_model(key)):
        values = [side.run.config.get(key) for side in sides]
        yield from _differing("model", "Models", values, "so does the work of a step", f"{key}: ")
    yield from _differing("model", "Scripts", [side.run.script for side in sides], "they may not train the same model")
    names = [side.run.gpu_name if side.run.gpus else "no GPU" for side in sides]
    yield from _differing("gpu", "GPUs", names, "part of the difference may be due to them")
    sizes = [side.run.world_size for side in sides]
    yield from _differing("world_size", "Numbers of ranks", sizes, "one rank of each run is compared")


def _differing(of: CautionOf, what: str, values: Sequence[Setting], so: str, key: str = "") -> Iterator[Caution]:
    """What is not known does not count as different."""
    known = list(dict.fromkeys(value for value in values if value is not None))
    if len(known) > 1:
        yield Caution(of=of, sentence=f"{what} differ ({key}{', '.join(str(value) for value in known)}): {so}.")


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
