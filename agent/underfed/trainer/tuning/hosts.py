"""What the first ranks of a run's hosts report to each other of switching at the same step, by way of their collectors
and the service.

The host of rank 0 leads. It plans each switch for a step that lies as far ahead as plans were seen to take, and what it
measures counts from when all others have done it. Batches do not depend on it: a host that switches late, or never,
hands out the same ones. A host that gets no more reports of the one that leads goes back by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from underfed.exchange.parts import write_part
from underfed.exchange.switch import ANSWER_FILE, FILE, Switch, SwitchAnswer, SwitchPlan, read_answer
from underfed.host.signal_handlers import passing
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.plan import AHEAD

SECOND = 1_000_000_000

DONE_NS = 60 * SECOND
"""So long the others have for a switch that the leading host has done: starting workers may take some ten seconds."""

ANSWERED_NS = 100 * SECOND
"""After a plan was made no answer to it counts: that of a host whose connection was gone may be old."""

LOST_NS = 120 * SECOND
"""A host that gets no report of the one that leads for so long ends its trial: later than an answer of it counts.
Collectors send at least every 5 s, and try again every 30 s where the service is away."""

FIRST_WAY_NS = 3 * SECOND
"""What a plan is taken to need on its way before that was seen: where eight ranks share a host, a window$
every four seconds."""

LEAST_WAY_NS, MOST_WAY_NS = SECOND // 4, 10 * SECOND
SPARE_WAY = 1.5
"""Of what the last plan needed: one that arrives late costs more than one that waits."""

MOST_APART = 64
"""Steps between two ranks that train together: at most one, or as many as gradients are accumulated over. Others soon
are further apart."""

NOT_TOGETHER = "the ranks of its hosts do not take their steps together, and all have to switch at the same one"
CREW_CHANGED = "a process of the run was started again, or left, while settings were tried"
WENT_BACK = f"nothing was heard of rank 0 for {LOST_NS // SECOND} s, and it went back"
NOT_DONE = "not all hosts of the run reported in time that they had switched"


@dataclass(frozen=True, slots=True)
class Failure:
    """A switch that was planned does not come about on all hosts."""

    reason: str
    is_final: bool
    """Nothing more can be tried; else another setting may."""


class Hosts:
    """As the first rank of one host knows them. ``directory``: that rank's; ``ranks``: of this host."""

    def __init__(self, directory: Path, incarnation: int, ranks: int, wanted: int) -> None:
        self._directory = directory
        self._path = str(directory / ANSWER_FILE)
        self._wanted = wanted
        self._number = incarnation
        """Of the newest plan. A process that is started again has a larger one, and so have its plans."""
        self._switch = Switch(ranks)
        self._arrived: SwitchPlan | None = None
        self._have_done = True
        self._answer: SwitchAnswer | None = None
        self._lead_reported_ns: int | None = None
        self._step_ns = 0.0
        self._looked: tuple[int, int] | None = None
        self._way_ns = FIRST_WAY_NS
        self._decided_step = self._decided_ns = 0
        self._done_ns: int | None = None
        """When the leading host itself had switched."""
        self._is_over = False
        self._report()

    # Of any host

    def look(self, now_ns: int, step: int) -> None:
        """A few times a second: what is new of the others, and how long a step takes."""
        if self._looked is not None and step > self._looked[1]:
            self._step_ns = (now_ns - self._looked[0]) / (step - self._looked[1])
        self._looked = now_ns, step
        answer = read_answer(self._path)
        if answer is None or answer == self._answer:
            return
        before = None if self._answer is None else self._answer.lead_window_index
        if answer.lead_window_index != before:
            self._lead_reported_ns = now_ns
        self._answer = answer
        if not self._have_done and self._has_been_done(answer) and now_ns - self._decided_ns <= ANSWERED_NS:
            self._have_done = True
            self._learn_way(answer)

    @property
    def has_service(self) -> bool:
        return self._answer is not None

    @property
    def missing(self) -> int:
        """Ranks of the run that no host has reported."""
        return self._wanted - (self._answer.ranks if self._answer is not None else self._switch.ranks)

    @property
    def has_lead(self) -> bool:
        return self._lead_reported_ns is not None

    def count(self, ranks: int) -> None:
        """So many ranks record on this host by now."""
        if ranks != self._switch.ranks and not self._is_over:
            self._report(ranks=ranks)

    def leave(self) -> None:
        """Nothing is switched here any more."""
        self._is_over = True
        self._switch = Switch(0)
        with passing(OSError):
            self._report()

    def _report(self, **changes: Any) -> None:
        self._switch = replace(self._switch, **changes)
        write_part(self._directory / FILE, self._switch)

    # Of one that does not lead

    def arrived(self, step: int) -> SwitchPlan | None:
        """A plan that is new here."""
        plan = self._answer.plan if self._answer is not None else None
        if plan is None or self._is_over or plan.number == self._switch.seen:
            return None
        self._arrived = plan
        self._report(seen=plan.number, seen_step=step, reason=None)
        return plan

    def cannot(self, reason: str) -> None:
        """What arrived is not done here."""
        self._report(reason=reason)

    def done(self, number: int) -> None:
        """The settings of this plan are in use here, their start-up over."""
        self._report(done=number)

    def abandoned(self, now_ns: int) -> SwitchPlan | None:
        """The plan of a trial that goes on here and that the leading host has left, or reports no more of: once."""
        plan, answer = self._arrived, self._answer
        if plan is None or answer is None or self._lead_reported_ns is None or plan.settings == plan.keep:
            return None
        if answer.is_searching and now_ns - self._lead_reported_ns <= LOST_NS:
            return None
        self._arrived = None
        self._report(done=0, reason=WENT_BACK)
        return plan

    # Of the one that leads

    def plan(self, setting: LoaderSetting, keep: LoaderSetting, step: int, *, is_searching: bool) -> int:
        """All hosts switch to ``setting``. Returns the step at which they do."""
        self._number += 1
        crew = self._answer.crew if self._answer is not None else 0
        due = step + AHEAD + (math.ceil(self._way_ns / self._step_ns) if self._step_ns else 0)
        plan = SwitchPlan(self._number, due, crew, setting.settings(), keep.settings())
        self._decided_step, self._done_ns, self._have_done = step, None, self._is_over
        self._decided_ns = self._looked[0] if self._looked is not None else 0
        self._report(is_searching=is_searching, plan=plan)
        return due

    @property
    def have_done(self) -> bool:
        """Whether all other hosts use what was planned last."""
        return self._have_done

    def failure(self, now_ns: int, step: int, *, is_done_here: bool) -> Failure | None:
        """Why what was planned last does not come about."""
        plan, answer = self._switch.plan, self._answer
        if plan is None or answer is None or self._is_over:
            return None
        if answer.number == plan.number and (why := self._why_not(plan, answer, step)) is not None:
            return why
        if self._have_done:
            return None
        self._done_ns = (self._done_ns or now_ns) if is_done_here else None
        is_late = self._done_ns is not None and now_ns - self._done_ns > DONE_NS
        if is_late or now_ns - self._decided_ns > ANSWERED_NS:
            return Failure(NOT_DONE, is_final=True)
        return None

    def end(self) -> None:
        """No host waits for another any more."""
        self._is_over = self._have_done = True

    def _why_not(self, plan: SwitchPlan, answer: SwitchAnswer, step: int) -> Failure | None:
        first, last = answer.first_seen_step, answer.last_seen_step
        is_behind = first is not None and first < self._decided_step - MOST_APART
        if is_behind or (last is not None and last > step + MOST_APART):
            return Failure(NOT_TOGETHER, is_final=True)
        if self._switch.is_searching and (answer.crew != plan.crew or answer.ranks != self._wanted):
            return Failure(CREW_CHANGED, is_final=True)
        return None if answer.reason is None else Failure(f"on another host: {answer.reason}", is_final=False)

    def _has_been_done(self, answer: SwitchAnswer) -> bool:
        plan = self._switch.plan
        is_newest = plan is not None and answer.number == plan.number
        return is_newest and answer.done_ranks + self._switch.ranks == self._wanted

    def _learn_way(self, answer: SwitchAnswer) -> None:
        if answer.last_seen_step is not None:
            needed_ns = (answer.last_seen_step - self._decided_step) * self._step_ns * SPARE_WAY
            self._way_ns = round(min(MOST_WAY_NS, max(LEAST_WAY_NS, self._way_ns / 2, needed_ns)))
