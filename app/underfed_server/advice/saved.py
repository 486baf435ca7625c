"""What a change can save at most that touches nothing but what its causes cost: a gain above it is none of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from underfed_server.advice.case import Case, cures
from underfed_server.advice.prediction.predict import Prediction
from underfed_server.advice.proof.pace import Gain
from underfed_server.advice.shares import MOST_SHARE, factor_without, gain_without
from underfed_server.measurements import Column
from underfed_server.model import Advice, CauseFinding, Evidence

Gained = TypeVar("Gained", bound="Prediction | Gain")

OF_CAUSES = "Saved without {} at most, of step time"
"""With the causes' labels."""
OF_LOADING = "Saved at most, of load time"


@dataclass(frozen=True, slots=True)
class Saved:
    """Shares of step time, or of load time: a step is shorter by no more than what loads it."""

    stated: float
    most: float
    """What that may turn out to be."""
    what: str

    @property
    def evidence(self) -> Evidence:
        return Evidence(what=self.what, value=self.most, unit="fraction")

    def within(self, gain: Gained) -> Gained:
        """What is predicted above that is not promised, and the ends of the interval move with it."""
        factor = min(1.0, factor_without(self.stated) / gain.speedup)
        most = factor_without(self.most)
        return replace(
            gain,
            speedup=gain.speedup * factor,
            low=gain.low * factor,
            high=max(gain.speedup * factor, min(gain.high, most)),
        )


def most_saved(case: Case) -> Saved:
    """By the change that is considered: as stated, and known as well as the wait that the causes are a part of."""
    stated, labels = min(MOST_SHARE, case.cost_fraction(case.change)), _labels(case)
    wait = gain_without(case.rank.steps.step_us, case.rank.stalled_us)
    waits = 0.0 if wait is None else 1 - 1 / wait.speedup
    if wait is None or waits <= 0 or case.together is not None:
        return Saved(stated, stated, OF_CAUSES.format(labels))
    most = max(stated, min(MOST_SHARE, stated / waits * (1 - 1 / wait.high)))
    return Saved(stated, most, OF_CAUSES.format(labels))


def _labels(case: Case) -> str:
    return " and ".join(each.cause_label for each in case.verdict.causes if cures(case.change, each))


def of_loading(case: Case, part_us: Column) -> Saved | None:
    """``part_us``: of each load, what the change can take away. ``None``: not measured."""
    gain = gain_without(case.rank.batches.load_us, part_us)
    return None if gain is None else Saved(1 - 1 / gain.speedup, 1 - 1 / gain.high, OF_LOADING)


def within_causes(one: Advice, causes: Sequence[CauseFinding]) -> Advice:
    """Advice of such a change that was computed a while ago, beside the ``causes`` of now."""
    most = factor_without(sum(each.cost_fraction for each in causes if cures(one.change, each)))
    if one.predicted_speedup is None or one.predicted_speedup <= most:
        return one
    factor = most / one.predicted_speedup
    ends = {name: None if end is None else end * factor for name, end in (("low", one.low), ("high", one.high))}
    return Advice.model_validate(dict(one) | ends | {"predicted_speedup": most})
