"""What the verdict on one run was, beside what it should have been."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.scenarios.pipelines.pipeline import Strength, pipeline
from underfed_server.model import Diagnosis
from underfed_server.names import CauseName


@dataclass(frozen=True, slots=True)
class Outcome:
    name: str
    strength: Strength
    bound: str
    stall_fraction: float | None
    found: CauseName | None
    """The leading cause."""
    costs: dict[str, float]
    """Of every cause."""
    advice: list[str]
    """Changes that were advised, best first."""

    @property
    def truth(self) -> CauseName | None:
        """``None``: it should be silent."""
        return None if self.strength == "none" else pipeline(self.name).cause

    @property
    def is_sound(self) -> bool:
        """Nothing should be found at any strength."""
        return pipeline(self.name).cause is None

    @property
    def is_right(self) -> bool:
        """A weak problem may be missed; silence means no advice either."""
        if self.truth is None:
            return self.found is None and not self.advice
        return self.found == self.truth or (self.strength == "weak" and self.found is None)

    def json(self) -> str:
        return json.dumps(asdict(self))

    def line(self) -> str:
        """One line for a reader."""
        stall = "    –" if self.stall_fraction is None else f"{self.stall_fraction:5.0%}"
        costs = ", ".join(f"{cause} {cost:.0%}" for cause, cost in self.costs.items()) or "silent"
        advised = f"  [advises {', '.join(self.advice)}]" if self.truth is None and self.advice else ""
        mark = " " if self.is_right else "✗"
        return f"{mark} {self.name:<30} {self.strength:<7}{self.bound:<9}{stall}  {costs}{advised}"


def outcome_of(name: str, strength: Strength, diagnosis: Diagnosis) -> Outcome:
    return Outcome(
        name=name,
        strength=strength,
        bound=diagnosis.bound,
        stall_fraction=diagnosis.data_stall_fraction,
        found=diagnosis.causes[0].cause if diagnosis.causes else None,
        costs={finding.cause: finding.cost_fraction for finding in diagnosis.causes},
        advice=[advice.change for advice in diagnosis.advice],
    )


def kept(path: Path | None) -> Iterator[Outcome]:
    """Outcomes of earlier calls."""
    if path is not None and path.exists():
        for line in path.read_text().splitlines():
            yield Outcome(**json.loads(line))
