"""The ladder of PyTorch's tutorial: at each rung, what is advised first, what that gains, and what the next does."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.unseen.rows import advised, answer
from benchmarks.unseen.trial import RealService, printed_by, recorded, service_of_its_own
from benchmarks.yardsticks.markdown import table
from underfed_server.names import ChangeName

Arguments = tuple[str, ...]
Speeds = Mapping[Arguments, Sequence[float]]
"""Steps a second over a whole run, starts of epochs among them, of each repeat."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One setting of the tutorial's workload."""

    name: str
    change: ChangeName | None
    """What makes it of the rung below."""
    arguments: Arguments
    published: float
    """Its speed over that of the first rung, as the tutorial gives it."""


WORKERS: Arguments = ("--num-workers", "4", "--prefetch-factor", "2")
RUNGS = (
    Rung("0 workers", None, (), 1.0),
    Rung("4 workers", "num_workers", WORKERS, 2.7),
    Rung("persistent", "persistent_workers", (*WORKERS, "--persistent-workers"), 3.7),
    Rung("`__getitems__`", "vectorize_getitem", (*WORKERS, "--persistent-workers", "--at-once"), 10.0),
)
"""Between the second and the third the tutorial pins memory (×2.8), where there is a GPU; nobody may advise it here."""


@dataclass(frozen=True, slots=True)
class Stand:
    """A rung, and what was said of a run on it."""

    rung: Rung
    next: Rung | None
    diagnosis: Any

    @property
    def first(self) -> Any:
        """The first advice; ``None``: nothing is advised."""
        return next(iter(self.diagnosis["advice"]), None)

    @property
    def is_right(self) -> bool:
        """The next rung is the first advice; nothing that a rung has already is advised, and no pinning."""
        names = [advice["change"] for advice in self.diagnosis["advice"]]
        if "pin_memory" in names or (self.rung.change == "vectorize_getitem" and self.rung.change in names):
            return False
        return self.next is None or names[:1] == [self.next.change]


def follow(rung: Rung, advice: Any) -> Arguments | None:
    """The arguments of the job once it follows the advice; ``None``: the job has no such setting."""
    settings = advice["settings"]
    if advice["change"] not in ("num_workers", "prefetch_factor", "persistent_workers", "vectorize_getitem"):
        return None
    workers = () if settings else tuple(word for word in rung.arguments if word != "--at-once")
    if settings.get("num_workers"):
        workers = ("--num-workers", str(settings["num_workers"]), "--prefetch-factor", str(settings["prefetch_factor"]))
        workers += ("--persistent-workers",) if settings.get("persistent_workers") else ()
    at_once = advice["change"] == "vectorize_getitem" or "--at-once" in rung.arguments
    return (*workers, "--at-once") if at_once else workers


def measure(folder: Path, repeats: int, steps: int | None) -> None:
    """Each rung against a service of its own; then, with what is advised first on each of them, the repeats in turn."""
    more = ("--steps", str(steps)) if steps else ()
    speeds: dict[Arguments, list[float]] = {}
    stands = []
    for rung, following in zip(RUNGS, (*RUNGS[1:], None), strict=True):
        with service_of_its_own("ladder") as service:
            speeds[rung.arguments] = [_train(rung.arguments, more, service)]
            stands.append(Stand(rung, following, service.diagnosis(service.finished_run()["run_id"])))
    followed = [follow(stand.rung, stand.first) for stand in stands if stand.first]
    settings = dict.fromkeys([*speeds, *(each for each in followed if each is not None)])
    with service_of_its_own("ladder") as service:
        for repeat in range(repeats):
            for arguments in settings:
                if repeat or arguments not in speeds:
                    speeds.setdefault(arguments, []).append(_train(arguments, more, service))
    kept = {"speeds": {" ".join(arguments): each for arguments, each in speeds.items()}}
    kept |= {"diagnoses": {stand.rung.name: stand.diagnosis for stand in stands}}
    (folder / "ladder.json").write_text(json.dumps(kept, indent=1))
    print(ladder_table(stands, speeds), flush=True)


def _train(arguments: Arguments, more: Arguments, service: RealService) -> float:
    module = [sys.executable, "-m", "benchmarks.yardsticks.ladder_job", "--data", str(service.folder)]
    printed = printed_by(recorded("ladder", [*module, *arguments, *more], service=service))
    return float(printed["steps"] / printed["wall_s"])


HEAD = (
    "rung",
    "published",
    "measured",
    "the next gains",
    "first cause",
    "first advice",
    "is the next rung",
    "it gains",
    "inside",
)


def ladder_table(stands: Sequence[Stand], speeds: Speeds) -> str:
    """One row a rung. Gains are factors on steps a second, medians of the repeats."""
    return table(HEAD, [_row(stand, speeds) for stand in stands])


def _row(stand: Stand, speeds: Speeds) -> list[str]:
    rung, first = stand.rung, stand.first
    causes = stand.diagnosis["causes"]
    gain = None if first is None else _gain(rung.arguments, follow(rung, first), speeds)
    return [
        rung.name,
        f"{rung.published:.1f}×",
        _factor(_gain(RUNGS[0].arguments, rung.arguments, speeds)),
        _factor(_gain(rung.arguments, stand.next.arguments, speeds)) if stand.next else "–",
        f"{causes[0]['cause']} {causes[0]['cost_fraction']:.0%}" if causes else "none",
        advised(first) if first else "none",
        answer(stand.is_right),
        _factor(gain),
        answer(holds(first, gain)),
    ]


def _gain(before: Arguments, after: Arguments | None, speeds: Speeds) -> float | None:
    if after is None or after not in speeds:
        return None
    return statistics.median(speeds[after]) / statistics.median(speeds[before])


def holds(advice: Any, gain: float | None) -> bool | None:
    """Whether the gain lies within the predicted interval. ``None``: it was not measured, or there is none."""
    if gain is None or advice["low"] is None:
        return None
    return bool(advice["low"] <= gain <= advice["high"])


def _factor(gain: float | None) -> str:
    return "–" if gain is None else f"{gain:.2f}×"
