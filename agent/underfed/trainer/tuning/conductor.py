"""Decides when trials begin, when the next setting's turn is, and what stays: of the one rank that leads on its host.

It is told of each request for a batch, and of the clock. It switches nothing itself: what it returns is to be done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from underfed.exchange import tuning
from underfed.exchange.config import Value
from underfed.exchange.tuning import Proposed
from underfed.trainer.tuning.blocks import LEAST_UNITS, Block, mean_ns, unit_of
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.search import LEAST_GAIN, Candidate, Search, Trial

SECOND = 1_000_000_000

ENOUGH = 20
"""Steps from which it is told how much of the time is waiting, as the service judges."""

RECENT = 200
"""Newest steps that are looked at for that."""

KEPT = 4096
"""Requests that are remembered."""

LOOK_NS = SECOND // 4
"""Between two looks at what was measured, or proposed."""

PATIENCE_NS = 10 * SECOND
JUDGED_STEPS = 30
"""So long the service is waited for: it judges a run every second, from its 25th step on, which has to reach it."""

BLOCK_NS = SECOND // 2
"""A block takes at least this long: shorter ones measure the host's scheduler."""

PAUSE_NS, PAUSE_STEPS = 2 * SECOND, 8
"""A step of this length, and of so many usual ones, is none: the program validates or saves."""

STALLED_NS = 60 * SECOND
"""The wait must have come back for this long, ..."""

RETRY_NS = 600 * SECOND
"""... and so much time have passed since the search before."""

MOST_CANDIDATES = 5
LEAST_STEPS, MOST_STEPS, STEPS_FRACTION = 100, 2000, 0.02

HEALTHY = "less than 5 % of the time is waiting for data"
NOTHING_FASTER = "no other setting was measured to be faster"
ASKING = "for candidates"
WhyNoRoom = Callable[[LoaderSetting], "str | None"]


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done: use this setting from here on, beside the one that it is compared with."""

    setting: LoaderSetting
    keep: LoaderSetting
    is_end: bool = False
    """The trials are over, and the program is to end with them."""


@dataclass(slots=True, eq=False)
class Conductor:
    """``proposed``: asks for what the service proposes. ``plain``: candidates by the plain rule, of step and wait in
    nanoseconds. ``changed``: called when what it tells has changed."""

    began_with: LoaderSetting
    most_steps: int
    fixed: Mapping[str, Value]
    """What ``--set`` set, which is not tried."""
    ends_after: bool
    proposed: Callable[[], Proposed | None]
    plain: Callable[[LoaderSetting, float, float], Sequence[Candidate]]
    why_no_room: WhyNoRoom
    changed: Callable[[], None]
    concluded: Callable[[], None]
    status: str = tuning.WAITING
    reason: str | None = None
    setting: LoaderSetting = field(init=False)
    searches: list[Search] = field(default_factory=list)
    kept_from_step: int | None = None
    kept_at_steps: int = 0
    trial_ns: int = 0
    speedup: float = 1.0
    interval: tuple[float, float] | None = None
    steps: int = 0
    """Requests so far."""
    _search: Search | None = None
    _began_ns: int = 0
    _block: Block | None = None
    _length: int = 0
    _unit: int = 1
    _instants: list[int] = field(default_factory=list)
    _waits: list[int] = field(default_factory=list)
    _gap_ns: int = 0
    _is_after_gap: bool = False
    _due_ns: int = 0
    _asked_ns: int | None = None
    _stalled_ns: int | None = None
    _ended_ns: int | None = None
    _residual: float = 0.0

    def __post_init__(self) -> None:
        self.setting = self.began_with

    @property
    def is_searching(self) -> bool:
        return self._search is not None

    def gap(self) -> None:
        """The next request does not end a step that counts: a pass or a setting began."""
        self._is_after_gap = True

    def request(self, now_ns: int, waited_ns: int, first_step: int) -> Order | None:
        """A batch is requested, after one that was waited for so long. ``first_step``: the number of its step."""
        self._note(now_ns, waited_ns)
        if self._search is not None:
            block = self._block
            if block is None or len(self._instants) <= self._length:
                return None
            return self._end_block(self._search, block, now_ns, first_step)
        if now_ns < self._due_ns:
            return None
        self._due_ns = now_ns + LOOK_NS
        return self._look(now_ns, first_step)

    def taken_over(self, first_step: int) -> None:
        """The setting that was ordered loads, and its start-up is over."""
        self._forget()
        if self._search is None and self.kept_from_step is None:
            self.kept_from_step, self.kept_at_steps = first_step, self.steps
            self.changed()

    def failed(self, present: LoaderSetting, reason: str, now_ns: int, first_step: int) -> Order | None:
        """The setting that was ordered cannot be used, and this one still is."""
        self.setting = present
        if self._search is None:
            return None
        turn = self._search.failed(reason)
        return self._go_on(self._search, turn, now_ns, first_step)

    def refuse(self, reason: str, status: str = tuning.REFUSED) -> None:
        if (self.status, self.reason) != (status, reason):
            self.status, self.reason = status, reason
            self.changed()

    def gained_ns(self) -> int:
        """Since another setting is kept, at the difference that was measured."""
        if not self.searches or self.kept_from_step is None or self.setting == self.began_with:
            return 0
        search = self.searches[-1]
        before, after = mean_ns(self.searches[0].trials[0].blocks), mean_ns(search.best.blocks)
        if before is None or after is None:
            return 0
        return max(0, round((self.steps - self.kept_at_steps) * (before - after)))

    def lost_ns(self) -> int:
        """By all blocks together, against the setting that each search began with."""
        lost = 0.0
        for search in self.searches:
            usual = mean_ns(search.trials[0].blocks) or 0.0
            blocks = [block for trial in search.trials for block in trial.blocks]
            lost += max(
                0.0, sum(block.end_ns - block.start_ns - block.steps * usual for block in blocks if block.steps)
            )
        return round(lost)

    def _note(self, now_ns: int, waited_ns: int) -> None:
        """On a clock that stops in gaps and pauses."""
        self.steps += 1
        instants = self._instants
        at = now_ns - self._gap_ns
        if instants:
            took = at - instants[-1]
            if self._is_after_gap:
                self._gap_ns += took
                self._is_after_gap = False
                return
            usual = (instants[-1] - instants[0]) / max(1, len(instants) - 1)
            if took > PAUSE_NS and len(instants) > 1 and took > PAUSE_STEPS * usual:
                self._gap_ns += took
                return
            self._waits.append(min(waited_ns, took))
        self._is_after_gap = False
        instants.append(at)
        if len(instants) > KEPT and self._search is None:
            del instants[: KEPT // 2], self._waits[: KEPT // 2]

    def _forget(self) -> None:
        self._instants, self._waits = [], []
        self._is_after_gap = False

    def _recent(self) -> tuple[int, float, float] | None:
        """Steps, and their mean length and wait."""
        steps = min(RECENT, len(self._instants) - 1)
        if steps < ENOUGH:
            return None
        length = (self._instants[-1] - self._instants[-1 - steps]) / steps
        return steps, max(length, 1.0), sum(self._waits[-steps:]) / steps

    def _look(self, now_ns: int, first_step: int) -> Order | None:
        recent = self._recent()
        if recent is None or self.status in (tuning.REFUSED, tuning.FAILED):
            return self._end_if_asked() if self.status in (tuning.REFUSED, tuning.FAILED) else None
        _, step_ns, wait_ns = recent
        stall = wait_ns / step_ns
        if stall < LEAST_GAIN + self._residual:
            self._asked_ns = self._stalled_ns = None
            if self._ended_ns is None:
                self.refuse(HEALTHY, tuning.WAITING)
                return self._end_if_asked()
            return None
        self._stalled_ns = self._stalled_ns or now_ns
        if self._ended_ns is not None and (
            now_ns - self._stalled_ns < STALLED_NS or now_ns - self._ended_ns < RETRY_NS
        ):
            return None
        if self._asked_ns is None:
            self._asked_ns = now_ns
            self.refuse(ASKING, tuning.WAITING)
        elif self.steps <= JUDGED_STEPS:
            self._asked_ns = now_ns
        candidates = self._candidates(now_ns, step_ns, wait_ns)
        return self._begin(candidates, now_ns, first_step) if candidates else self._end_if_asked()

    def _end_if_asked(self) -> Order | None:
        """Where there is nothing to try."""
        is_due = self.ends_after and self.steps >= self.most_steps
        return Order(self.setting, self.setting, is_end=True) if is_due else None

    def _candidates(self, now_ns: int, step_ns: float, wait_ns: float) -> list[Candidate]:
        proposed = self.proposed()
        present = self.setting.settings()
        if proposed is not None and all(
            proposed.settings.get(name, present[name]) == present[name] for name in ("num_workers", "prefetch_factor")
        ):
            if not proposed.candidates and proposed.why_none is not None:
                self.refuse(proposed.why_none, tuning.WAITING)
            found = [self._candidate(each) for each in proposed.candidates]
        elif now_ns - (self._asked_ns or now_ns) >= PATIENCE_NS:
            found = list(self.plain(self.setting, step_ns, wait_ns))
        else:
            return []
        fixed = {name: value for name, value in self.fixed.items() if name in self.setting.settings()}
        free = [each for each in found if each.setting != self.setting and _agrees(each.setting, self.setting, fixed)]
        return list({each.setting: each for each in free}.values())

    def _candidate(self, each: Mapping[str, Any]) -> Candidate:
        settings = each.get("settings")
        known = settings if isinstance(settings, dict) else {}
        numbers = (each.get(name) for name in ("predicted_speedup", "low", "high"))
        return Candidate(
            self.setting.changed(known), *(one if isinstance(one, (int, float)) else None for one in numbers)
        )

    def _begin(self, candidates: Sequence[Candidate], now_ns: int, first_step: int) -> Order | None:
        workers = max(self.setting.num_workers, *(each.setting.num_workers for each in candidates))
        recent = self._recent()
        assert recent is not None
        steps, step_ns, wait_ns = recent
        self._unit = unit_of(workers)
        self._length = max(LEAST_UNITS * self._unit, min(round(BLOCK_NS / step_ns), self.most_steps // 4))
        measured = min(steps, self._length)
        start = Block(first_step - measured, now_ns - round(measured * step_ns), measured, now_ns)
        start.requests_ns = self._instants[-measured - 1 :]
        start.close(self._unit)
        began = Trial(Candidate(self.setting), [start], stall_fraction=wait_ns / step_ns)
        search = Search(began, candidates[:MOST_CANDIDATES], self.most_steps)
        for trial in search.trials[1:]:
            trial.reason = self.why_no_room(trial.setting)
        self.searches.append(search)
        self._search, self._began_ns = search, now_ns
        self._asked_ns = self._stalled_ns = None
        self.status, self.reason, self.kept_from_step = tuning.SEARCHING, None, None
        return self._go_on(search, search.begin(), now_ns, first_step)

    def _end_block(self, search: Search, block: Block, now_ns: int, first_step: int) -> Order | None:
        block.requests_ns = self._instants[: self._length + 1]
        block.steps, block.end_ns = first_step - block.first_step, now_ns
        block.close(self._unit)
        stall = sum(self._waits) / max(1, self._instants[-1] - self._instants[0])
        turn = search.measured(block, stall)
        return self._go_on(search, turn, now_ns, first_step)

    def _go_on(self, search: Search, turn: Trial, now_ns: int, first_step: int) -> Order | None:
        self._block = None
        self._forget()
        if search.is_over:
            return self._conclude(search, now_ns, first_step)
        self._block = Block(first_step, now_ns)
        turn.open_block = self._block
        self.changed()
        if turn.setting == self.setting:
            return None
        self.setting = turn.setting
        return Order(turn.setting, search.best.setting)

    def _conclude(self, search: Search, now_ns: int, first_step: int) -> Order | None:
        self._search = None
        self._ended_ns = now_ns
        self.trial_ns += now_ns - self._began_ns
        best = search.best
        self._residual = best.stall_fraction or 0.0
        if best is not search.trials[0] and (ratio := search.ratio()) is not None:
            before = self.speedup
            self.speedup = before * ratio.speedup
            self.interval = before * ratio.low, before * ratio.high
        if best.setting == self.began_with:
            others = [trial for trial in search.trials[1:] if trial.setting != self.began_with]
            why_none = next((trial.reason for trial in others), None) if not any(t.blocks for t in others) else None
            self.status, self.reason = tuning.LEFT_ALONE, why_none or NOTHING_FASTER
            self.speedup, self.interval = 1.0, None
        else:
            self.status, self.reason = tuning.KEPT, None
        is_switch = best.setting != self.setting
        self.setting = best.setting
        if not is_switch:
            self.kept_from_step, self.kept_at_steps = first_step, self.steps
        self.concluded()
        self.changed()
        if self.ends_after:
            return Order(best.setting, best.setting, is_end=True)
        return Order(best.setting, best.setting)


def _agrees(setting: LoaderSetting, present: LoaderSetting, fixed: Mapping[str, Value]) -> bool:
    """Whether it leaves alone what was set."""
    return all(getattr(setting, name) == getattr(present, name) for name in fixed)


def steps_for_trials(asked: int | None, known_length: int | None) -> int:
    """``asked``: ``--tune-steps``. ``known_length``: steps that the training will take, as far as that is known."""
    if asked is not None:
        return asked
    return max(LEAST_STEPS, min(MOST_STEPS, round(STEPS_FRACTION * (known_length or 0))))
