"""A training loop of known speeds, on a clock moved by hand, that does what the conductor requests."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from underfed.exchange.tuning import Proposed
from underfed.trainer.tuning.candidates import plain_candidates
from underfed.trainer.tuning.conductor import SECOND, Conductor, Order
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.report import kept_line

MS = 1_000_000
NONE, TWO, FOUR = (LoaderSetting(count, 2 if count else None) for count in (0, 2, 4))


@dataclass(slots=True)
class Loop:
    """A training loop: a step takes ``work_ms``, and waits as long as its setting has it wait."""

    wait_ms: dict[LoaderSetting, float]
    work_ms: float = 10.0
    noise: float = 0.0
    work_noise: float = 0.0
    step_noise: float = 0.0
    """Of whole steps: the standard deviation of its logarithm."""
    drift: float = 0.0
    """By which the host is slower or faster for some dozen steps: likewise."""
    candidates: list[Mapping[str, Any]] | None = field(default_factory=list)
    why_none: str | None = None
    no_room: str | None = None
    most_steps: int = 400
    fixed: dict[str, Any] = field(default_factory=dict)
    ends_after: bool = False
    is_limited: bool = True
    length: int | None = None
    start_ns: int = 0
    start_ms: float = 100
    """What starting workers takes, beside the steps of the switch."""
    pass_steps: int | None = None
    """Of a pass; ``None``: there is one without end."""
    pass_ms: dict[LoaderSetting, float] = field(default_factory=dict)
    """What a pass begins with."""
    end_ms: dict[LoaderSetting, float] = field(default_factory=dict)
    """What it ends with."""
    requested: list[Order] = field(default_factory=list)
    conclusions: list[str | None] = field(default_factory=list)
    step: int = 0
    now_ns: int = SECOND
    conductor: Conductor = field(init=False)
    in_use: LoaderSetting = field(init=False)
    random: random.Random = field(default_factory=lambda: random.Random(1))
    _host: float = 0.0
    _waited: int = 0
    _pass_began: int = 0

    def __post_init__(self) -> None:
        self.in_use = next(iter(self.wait_ms))
        self.conductor = Conductor(
            self.in_use,
            self.most_steps,
            self.fixed,
            self.ends_after,
            proposed=self._proposed,
            plain=lambda present, step, wait: plain_candidates(present, step, wait, cores=4),
            why_no_room=lambda _: self.no_room,
            changed=lambda: None,
            concluded=lambda: self.conclusions.append(kept_line(self.conductor)),
            left_steps=lambda: None if self.length is None else self.length - self.step,
            start_ns=self.start_ns,
            pass_steps=lambda: self.pass_steps,
            is_limited=self.is_limited,
        )

    def run(self, steps: int) -> None:
        for _ in range(steps):
            if self.pass_steps is not None and self.step - self._pass_began >= self.pass_steps:
                self._begin_pass()
            order = self.conductor.request(self.now_ns, self._waited, self.step)
            while order is not None:
                self.requested.append(order)
                order = self._switch(order.setting) if order.setting != self.in_use else None
            self._waited = self._pass(self.in_use)

    def _begin_pass(self) -> None:
        """The steps until its queue is filled are not counted."""
        order = self.conductor.request(self.now_ns, self._waited, self.step)
        ends_ns = round(self.end_ms.get(self.in_use, 0.0) * MS)
        self.now_ns += ends_ns
        if order is None:
            self.conductor.pass_ended(ends_ns)
        else:
            self.requested.append(order)
            self.in_use = order.setting
        self.conductor.pass_began(self.now_ns, self.now_ns - ends_ns)
        self._pass_began = self.step
        start_ns = round(self.pass_ms.get(self.in_use, 0.0) * MS)
        self.now_ns += start_ns
        # Half of it is in the construction of the iterator, half of it has the first batch wait.
        waits_ns = round(self.in_use.num_workers * (self.wait_ms[self.in_use] + self.work_ms) * MS)
        self.conductor.pass_began_with(self.in_use, start_ns // 2, waits_ns + start_ns // 2)
        for _ in range(self.in_use.capacity):
            self._pass(self.in_use)
        if order is not None:
            self.conductor.taken_over(self.now_ns, self.step)
        self.conductor.pass_measured(self.now_ns, self.in_use.capacity)

    def lost_ms(self, began_ns: int, began_step: int, step_ms: float) -> float:
        """By what a stop watch shows since then, beside steps of this length."""
        return (self.now_ns - began_ns) / MS - (self.step - began_step) * step_ms

    def _switch(self, setting: LoaderSetting) -> Order | None:
        """What was loaded ahead is handed out, then what is loaded ahead from here on is not counted. Returns what is
        ordered at once."""
        for _ in range(self.in_use.capacity):
            self._pass(self.in_use)
        self.now_ns += round(self.start_ms * MS) if setting.num_workers else 0
        self.in_use = setting
        for _ in range(setting.capacity + 1):
            self._pass(setting)
        self.conductor.taken_over(self.now_ns, self.step)
        return self.conductor.request(self.now_ns, self._waited, self.step)

    def _pass(self, setting: LoaderSetting) -> int:
        """A step, and how long it waited."""
        if self.random.random() < 1 / 30:
            self._host = self.random.gauss(0, self.drift)
        factor = math.exp(self._host + self.random.gauss(0, self.step_noise)) if self.step_noise or self.drift else 1.0
        waited = round(self.wait_ms[setting] * self._spread(self.noise) * factor * MS)
        self.now_ns += waited + round(self.work_ms * self._spread(self.work_noise) * factor * MS)
        self.step += 1
        return waited

    def _spread(self, noise: float) -> float:
        return 1 + noise * (2 * self.random.random() - 1)

    def _proposed(self) -> Proposed | None:
        if self.candidates is None:
            return None
        return Proposed(self.conductor.setting.settings(), self.candidates, self.why_none)


def workers(*counts: int) -> list[Mapping[str, Any]]:
    return [{"settings": {"num_workers": count}, "predicted_speedup": 2.0} for count in counts]
