"""Decides when trials begin, when the next setting's turn is, and what stays: of the one rank that leads on its host.

It is called at each request for a batch, with its time. It switches nothing itself: what it returns is to be done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from underfed.exchange import tuning
from underfed.exchange.config import Value
from underfed.exchange.tuning import Proposed
from underfed.trainer.tuning.allowance import Allowance, Rest, starts_of
from underfed.trainer.tuning.blocks import LEAST_UNIT, Block, compare, least_steps, mean_ns, unit_of
from underfed.trainer.tuning.candidates import Surroundings, candidates_in, is_for, to_try
from underfed.trainer.tuning.costs import SinceKept
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.pace import Pace, Recent
from underfed.trainer.tuning.passes import Passes, Starts
from underfed.trainer.tuning.search import LEAST_GAIN, USED_UP, Candidate, Search, Trial, surely

SECOND = 1_000_000_000

LOOK_NS = SECOND // 4
"""Between two looks at what was measured, or proposed."""

PATIENCE_NS = 10 * SECOND
JUDGED_STEPS = 30
"""So long the service is waited for: it judges a run every second, from its 25th step on, which has to reach it."""

BLOCK_NS = SECOND // 2
"""A block takes at least this long: shorter ones measure the host's scheduler."""

STALLED_NS = 60 * SECOND
"""The wait must have come back for this long, ..."""

RETRY_NS = 600 * SECOND
"""... and so much time have passed since the search before."""

KNOWN, KNOWN_OF_GAIN = 0.03, 0.125
"""Standard error of the step of the setting in use, as a share of it, by which trials begin, or this part of what there
is to gain: these steps cost nothing, and those of the trials are compared with them. ..."""

KNOWN_NS, KNOWN_STEPS, KNOWN_FRACTION = 10 * SECOND, 500, 0.02
"""... They begin after so long, after so many steps, or after this part of what is known to be left of the run,
whatever is known by then: nothing is gained before."""

KNOWN_PART = 0.75
"""Of the steps so far: the first ones of a run may be others, as where caches are still empty."""

LONGER = 2
"""Times as long as it was to be is a block at most whose queue empties."""

MOST_CANDIDATES = 5

LEAST_REST = 4
"""Blocks that have to be left of the run for trials: two are of the candidate and the setting in use."""

WATCHED = 4
"""What is kept is compared with what the search began with after so many blocks, and each time that there are twice as
many: as many as a comparison has at most."""

LEAST_STEPS, MOST_STEPS, STEPS_FRACTION = 100, 2000, 0.02

HEALTHY = "less than 5 % of the time is waiting for data"
NOTHING_FASTER = "no other setting was measured to be faster"
WENT_BACK = "what was kept turned out to be slower than what was in use before"
NEARLY_OVER = "what is known to be left of the run is too short for trials"
ASKING = "for candidates"
NOT_REACHED = "the trials ended before its turn"
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
    nanoseconds. ``changed``: called when what it reports has changed. ``left_steps``: that are known to be left of the
    run; ``None``: that is not known. ``left_of_pass``: of these those of the pass that goes on. ``start_ns``: what
    starting workers costs, as far as that is known. ``fork_ns``: forks a process that ends at once, and returns what
    that took; 0: nothing is forked. ``starting``: requests to come whose steps are of a start, for which this is not
    called. ``pass_steps``: of a pass; ``None``: that is not known. ``ahead``: batches that are loaded and not handed
    out; ``None``: that is not known. ``batch_bytes``: of a batch; 0: that is not known."""

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
    left_steps: Callable[[], int | None]
    start_ns: int = 0
    fork_ns: Callable[[], int] = lambda: 0
    starting: Callable[[], int] = lambda: 0
    pass_steps: Callable[[], int | None] = lambda: None
    left_of_pass: Callable[[], int | None] = lambda: None
    ahead: Callable[[], int | None] = lambda: None
    batch_bytes: Callable[[], int] = lambda: 0
    is_limited: bool = True
    """The time that trials may lose: nobody asked for a number of steps."""
    status: str = tuning.WAITING
    reason: str | None = None
    setting: LoaderSetting = field(init=False)
    why_no_workers: str | None = None
    """Where there are none: why none is started."""
    searches: list[Search] = field(default_factory=list)
    kept_from_step: int | None = None
    kept_at_steps: int = 0
    trial_ns: int = 0
    speedup: float = 1.0
    interval: tuple[float, float] | None = None
    lacks_time: bool = False
    """There is something to try, and what is known of the run is too short for it."""
    went_back: bool = False
    """The last search was of what was kept, and ended with what was in use before."""
    steps: int = 0
    """Requests so far."""
    since: SinceKept = field(default_factory=SinceKept)
    """All steps under other settings than the first, but for those of trials."""
    _passes: Passes = field(default_factory=Passes)
    _pace: Pace = field(default_factory=Pace)
    _search: Search | None = None
    _allowance: Allowance = field(default_factory=Allowance)
    _cut: Search | None = None
    """What is left of the run was too short for all that it would have tried: it goes on once more is known."""
    _why_cut: str | None = None
    _ahead: int | None = None
    """As the steps that are measured began."""
    _known_ns: int | None = None
    """When candidates were there."""
    _is_check: bool = False
    """The search is of what was kept, against what was in use before."""
    _now_ns: int = 0
    """Of the last request."""
    _first_step: int = 0
    """The number of the step that it began."""
    _began_ns: int = 0
    _block: Block | None = None
    _wanted: int = 0
    """Measured steps of a block."""
    _length: int = 0
    """Of the one that is open."""
    _due_ns: int = 0
    _asked_ns: int | None = None
    _stalled_ns: int | None = None
    _ended_ns: int | None = None
    _residual: float = 0.0
    _before: Trial | None = None
    """Of what was in use before something was kept, which goes on being compared with it."""
    _watch_steps: int = 0
    """Steps since it was kept after which that is done next."""

    def __post_init__(self) -> None:
        self.setting = self.began_with

    @property
    def lost_ns(self) -> float:
        """By all trials: what the steps in them took longer than those around them, under the setting in use."""
        return self._allowance.lost_by(self._clock_ns(self._now_ns), self._first_step)

    @property
    def is_searching(self) -> bool:
        return self._search is not None

    @property
    def missing_steps(self) -> int:
        """Until it is known how much of the time is waiting."""
        return self.starting() + self._pace.missing_steps

    def pass_began(self, now_ns: int, last_ns: int) -> None:
        """The next request does not end a step that counts. ``last_ns``: of the last request of the pass before."""
        self._pace.gap()
        self._ahead = None
        self._passes.began(self.setting, now_ns)
        self._allowance.pass_began(now_ns, last_ns)
        if self._search is not None and self._allowance.rest is not None:
            start = self._search.trials[0]
            self._allowance.widen(self._rest(start.blocks, start.stall_fraction or 0.0, now_ns, self._first_step))

    def pass_began_with(self, setting: LoaderSetting, construct_ns: int, first_wait_ns: int) -> None:
        """Torch began a pass under this setting: how long its iterator took to be constructed, and the first batch to
        come."""
        self._passes.began_with(setting, construct_ns, first_wait_ns)

    @property
    def starts(self) -> Starts | None:
        """What starting and ending the workers of the setting in use took in this run; ``None``: there was nothing to
        start, or it is not known."""
        recent = self._pace.recent()
        return self._passes.starts(self.setting, recent.step_ns) if recent is not None else None

    @property
    def step_ns(self) -> float:
        """Of the newest steps; 0: too few."""
        recent = self._pace.recent()
        return recent.step_ns if recent is not None else 0.0

    def pass_measured(self, now_ns: int, steps: int) -> None:
        """The setting in use has loaded so many steps of a pass, and the next one may be measured."""
        took = self._passes.measured(self.setting, now_ns, steps)
        if took is not None and self._is_since_kept:
            self.since.add_edge(took, steps)

    def pass_ended(self, took_ns: int, of_others_ns: int = 0, *, is_switching: bool = False) -> None:
        """There were no more batches, which took so long to be known: workers end then. ``of_others_ns``: of that for
        workers of other settings. ``is_switching``: the setting in use did not load the pass to its end."""
        self._allowance.pass_ended(took_ns)
        if is_switching:
            return
        self._passes.ended(self.setting, took_ns - of_others_ns)
        if self._is_since_kept:
            self.since.add_edge(took_ns)

    def workers_ended(self, took_ns: int) -> None:
        """Of settings that are not needed any more."""
        self._allowance.workers_ended(took_ns)

    @property
    def _is_since_kept(self) -> bool:
        return self._search is None and self.kept_from_step is not None and self.setting != self.began_with

    def request(self, now_ns: int, waited_ns: int, first_step: int) -> Order | None:
        """A batch is requested, after one that was waited for so long. ``first_step``: the number of its step."""
        self.steps += 1
        self._now_ns, self._first_step = now_ns, first_step
        self._allowance.run_began(now_ns)
        took = self._pace.note(now_ns, waited_ns, is_bounded=self._search is None)
        if self._search is not None:
            block = self._block
            # ``None``: what a signal handler raised came between the end of the last one and this.
            if block is None or self._is_too_dear(self._search, block, now_ns, first_step):
                return self._go_on(self._search, now_ns, first_step)
            if not self._is_enough(self._search, block, first_step):
                return None
            self._note_block(self._search, block, now_ns, first_step)
            return self._go_on(self._search, now_ns, first_step)
        if took:
            self._allowance.waited(min(waited_ns, took))
        if took and self._is_since_kept:
            self.since.add(took)
        if now_ns < self._due_ns:
            return None
        self._due_ns = now_ns + LOOK_NS
        return self._check(now_ns, first_step) or self._look(now_ns, first_step)

    def taken_over(self, now_ns: int, first_step: int) -> None:
        """The setting that was ordered loads, and its start-up is over."""
        self._pace.forget()
        self._ahead = self.ahead()
        search, block = self._search, self._block
        if search is None or search.current is search.trials[0]:
            self._allowance.turn_ended(self._clock_ns(now_ns), first_step)
        if search is None:
            if self.kept_from_step is None:
                self.kept_from_step, self.kept_at_steps = first_step, self.steps
                self.changed()
        elif block is not None and self.setting.num_workers and not search.current.blocks:
            usual_ns = (first_step - block.first_step) * (mean_ns(search.best.blocks) or 0.0)
            self.start_ns = max(0, round(now_ns - block.start_ns - usual_ns))
            self._passes.started(self.setting, self.start_ns)
            self._allowance.started(self.setting, self.start_ns)

    def failed(self, present: LoaderSetting, reason: str, now_ns: int, first_step: int) -> Order | None:
        """The setting that was ordered cannot be used, and this one still is."""
        self.setting = present
        if self._search is None:
            return None
        self._search.failed(reason)
        return self._go_on(self._search, now_ns, first_step)

    def refuse(self, reason: str, status: str = tuning.REFUSED, *, lacks_time: bool = False) -> None:
        self.lacks_time = lacks_time
        if (self.status, self.reason) != (status, reason):
            self.status, self.reason = status, reason
            self.changed()

    def again(self) -> Order:
        """What was ordered last, and not carried out: a signal handler raised meanwhile."""
        beside = self._search.beside.setting if self._search is not None else self.setting
        return Order(self.setting, beside)

    def leave_alone(self, setting: LoaderSetting, reason: str) -> None:
        """All trials end, and this setting is used."""
        if self._search is not None:
            # Of the one whose turn it is. What it showed is not known of the others.
            self._search.current.reason = reason
            self._search.stop(NOT_REACHED)
            self.trial_ns += self._now_ns - self._began_ns
        self._search = self._block = self._before = self._cut = None
        self.setting = setting
        self.refuse(reason)

    # Whether there is something to try

    def _look(self, now_ns: int, first_step: int) -> Order | None:
        if self.status in (tuning.REFUSED, tuning.FAILED):
            return self._end_if_asked()
        recent = self._pace.recent()
        if recent is None:
            return None
        if self._allowance.awaits_usual and self.setting == self.searches[-1].trials[0].setting:
            self._allowance.usual_again(mean_ns([self._of_now(recent)]) or recent.step_ns)
        if self._cut is not None and (order := self._resume(self._cut, recent, now_ns, first_step)) is not None:
            return order
        if not self._is_worth_trials(recent, now_ns):
            return self._end_if_asked() if self._ended_ns is None else None
        candidates = self._candidates(now_ns, recent)
        if not candidates:
            return None if candidates is None else self._end_if_asked()
        return self._try(candidates, recent, now_ns, first_step) if self._is_known(recent, now_ns) else None

    def _is_known(self, recent: Recent, now_ns: int) -> bool:
        """Whether the pace of the setting in use is known well enough to be compared with."""
        self._known_ns = self._known_ns or now_ns
        steps, left = self._pace.steps, self.left_steps()
        if now_ns - self._known_ns >= KNOWN_NS or steps >= KNOWN_STEPS:
            return True
        if left is not None and steps > KNOWN_FRACTION * left:
            return True
        error = self._pace.error(self._known_steps)
        return error is not None and error <= max(KNOWN, KNOWN_OF_GAIN * recent.stall_fraction)

    @property
    def _known_steps(self) -> int:
        """The newest that tell the pace of the setting in use: those before them may be of a beginning."""
        return min(KNOWN_STEPS, round(KNOWN_PART * self._pace.steps))

    def _try(self, candidates: Sequence[Candidate], recent: Recent, now_ns: int, first_step: int) -> Order | None:
        """Unless the run is too short for it, as far as it is known."""
        wanted, left = min(round(BLOCK_NS / recent.step_ns), self.most_steps // 4), self.left_steps()
        if left is not None and left < LEAST_REST * wanted and not self.ends_after:
            self.refuse(NEARLY_OVER, tuning.WAITING, lacks_time=True)
            return None
        self._wanted = wanted
        if not self._allowance.knows_workers and (starts := self.starts) is not None:
            self._allowance.worker_took(starts.pass_ns / self.setting.num_workers)
        rest = self._rest_now(recent, now_ns, first_step)
        lost_ns = self._allowance.lost_by(self._clock_ns(now_ns), first_step)
        too_dear = [self._why_too_dear(each.setting, rest, lost_ns) for each in candidates]
        if all(too_dear):
            self.refuse(str(too_dear[0]), tuning.WAITING, lacks_time=True)
            return None
        if any(
            self._allowance.is_unsure(each.setting, self._starts(each.setting), rest, lost_ns) for each in candidates
        ):
            # It is judged by that at the next look. The time goes into no step.
            self._allowance.probed(self.fork_ns())
            self._pace.gap()
            return None
        return self._begin(candidates, recent.stall_fraction, now_ns, first_step)

    def _rest_now(self, recent: Recent, now_ns: int, first_step: int) -> Rest | None:
        return self._rest([self._of_now(recent)], recent.stall_fraction, now_ns, first_step)

    def _of_now(self, recent: Recent) -> Block:
        known = Block(0, 0, unit_ns=[recent.step_ns])
        self._add_pass([known], self.setting)
        return known

    def _resume(self, search: Search, recent: Recent, now_ns: int, first_step: int) -> Order | None:
        """Go on with a search that was cut short, as far as trials may lose more by now. Passes that went by show that
        as many more may come."""
        if recent.stall_fraction < LEAST_GAIN:
            return None
        rest = self._rest_now(recent, now_ns, first_step)
        lost_ns = self._allowance.lost_by(self._clock_ns(now_ns), first_step)
        why = {trial.setting: self._why_too_dear(trial.setting, rest, lost_ns) for trial in search.cut}
        trials = [trial for trial in search.cut if why[trial.setting] is None]
        if not trials:
            self._report_cut(search, why)
            return None
        self._why_cut = next((each for each in why.values() if each is not None), self._why_cut)
        start = search.trials[0]
        start.stall_fraction = recent.stall_fraction
        newest = self._pace.newest_block(max(self._wanted, self._known_steps), start.unit, now_ns, first_step)
        self._begin_losing([newest], rest, now_ns)
        search.go_on(trials, newest, self.why_no_room)
        return self._go_on(search, now_ns, first_step)

    def _report_cut(self, search: Search, why: Mapping[LoaderSetting, str | None]) -> None:
        """By what is known now."""
        for trial in search.cut:
            if not trial.blocks:
                trial.reason = why[trial.setting]
        self.refuse(str(why[search.cut[0].setting]), tuning.WAITING, lacks_time=True)

    def _is_worth_trials(self, recent: Recent, now_ns: int) -> bool:
        """Whether enough of the time is waiting; after a search, whether it is so again for long enough."""
        if recent.stall_fraction < LEAST_GAIN + self._residual:
            self._asked_ns = self._stalled_ns = None
            if self._ended_ns is None:
                self.refuse(HEALTHY, tuning.WAITING)
            return False
        self._stalled_ns = self._stalled_ns or now_ns
        if self._ended_ns is not None and (
            now_ns - self._stalled_ns < STALLED_NS or now_ns - self._ended_ns < RETRY_NS
        ):
            return False
        if self._asked_ns is None:
            self._asked_ns = now_ns
            self.refuse(ASKING, tuning.WAITING, lacks_time=True)
        elif self.steps <= JUDGED_STEPS:
            self._asked_ns = now_ns
        return True

    def _end_if_asked(self) -> Order | None:
        """Where there is nothing to try."""
        is_due = self.ends_after and self.steps >= self.most_steps
        return Order(self.setting, self.setting, is_end=True) if is_due else None

    def _candidates(self, now_ns: int, recent: Recent) -> list[Candidate] | None:
        """``None``: the service's are awaited."""
        proposed = self.proposed()
        if proposed is not None and is_for(proposed, self.setting):
            if not proposed.candidates and proposed.why_none is not None:
                self.refuse(proposed.why_none, tuning.WAITING)
            found = candidates_in(proposed, self.setting)
        elif now_ns - (self._asked_ns or now_ns) >= PATIENCE_NS:
            found = list(self.plain(self.setting, recent.step_ns, recent.wait_ns))
        else:
            return None
        around = Surroundings(self.most_steps, self.pass_steps(), self.batch_bytes(), recent.step_ns)
        return to_try(found, self.setting, self.fixed, around)

    def _check(self, now_ns: int, first_step: int) -> Order | None:
        """Whether what is kept is slower, by more than its noise, than what was in use before it was. The host may have
        changed for both since, so the two take turns again."""
        before, since = self._before, self.steps - self.kept_at_steps
        if before is None or self.kept_from_step is None or since < self._watch_steps or self._pace.recent() is None:
            return None
        self._watch_steps = 2 * since
        self.changed()
        newest = self._pace.newest_block(WATCHED * self._wanted, unit_of(self.setting.num_workers), now_ns, first_step)
        self._add_pass([newest], self.setting)
        self._add_pass(before.blocks, before.setting)
        slower = compare([newest], before.blocks)
        if slower is None or surely(slower, self.searches[-1].measured_candidates) <= 1.0:
            return None
        self._is_check = True
        return self._begin([Candidate(before.setting)], None, now_ns, first_step)

    # A search

    def _begin(
        self, candidates: Sequence[Candidate], stall: float | None, now_ns: int, first_step: int
    ) -> Order | None:
        """``stall`` ``None``: whatever the candidates gain, it need not be a wait."""
        began = Trial(Candidate(self.setting), stall_fraction=stall)
        self._wanted = max(began.least_steps, self._wanted)
        if not self.since.steps:
            self.since.part_steps = self._wanted
        known = max(self._wanted, self._known_steps)
        began.blocks.append(self._pace.newest_block(known, began.unit, now_ns, first_step))
        self._add_pass(began.blocks, began.setting)
        search = Search(began, candidates[:MOST_CANDIDATES], self.most_steps, self.pass_steps())
        rest = None if stall is None else self._rest(began.blocks, stall, now_ns, first_step)
        for trial in search.trials[1:]:
            trial.reason = self._why_no_pass(trial.setting) or self.why_no_room(trial.setting)
        self.searches.append(search)
        self._begin_losing(began.blocks, rest, now_ns)
        search.begin()
        return self._go_on(search, now_ns, first_step)

    def _begin_losing(self, known: Sequence[Block], rest: Rest | None, now_ns: int) -> None:
        """The newest search begins, or goes on. ``known``: of the setting in use."""
        self._add_pass(known, self.setting)
        self._allowance.rest = rest
        self._search, self._began_ns, self._cut = self.searches[-1], now_ns, None
        self._asked_ns = self._stalled_ns = self._known_ns = None
        self.status, self.reason, self.kept_from_step = tuning.SEARCHING, None, None
        self.lacks_time = False

    def _is_enough(self, search: Search, block: Block, first_step: int) -> bool:
        """Whether the block is as long as was wanted or as it may be, or says enough already."""
        steps, all_steps = self._pace.steps, first_step - block.first_step
        if search.are_used_up(all_steps):
            return True
        if steps >= self._length:
            # A queue that single batches emptied fills again, and then nothing of it is to be counted.
            is_longer = steps < LONGER * self._length and search.may_have(all_steps)
            return not is_longer or self._drained() <= search.current.unit
        if steps % search.current.unit:
            return False
        self._measure(search, block, steps)
        self._add_passes(search, block)
        return search.is_obvious(block)

    def _measure(self, search: Search, block: Block, steps: int) -> None:
        block.requests_ns = self._pace.requests_ns[: steps + 1]
        block.close(search.current.unit, self._drained())

    def _drained(self) -> int:
        """Batches by which those that are loaded ahead became fewer since the steps that are measured began."""
        before, after = self._ahead, self.ahead()
        return before - after if before is not None and after is not None else 0

    def _note_block(self, search: Search, block: Block, now_ns: int, first_step: int) -> None:
        self._measure(search, block, self._pace.steps)
        block.steps, block.end_ns = first_step - block.first_step, now_ns
        self._block = None
        self._add_passes(search, block)
        if search.current is search.trials[0]:
            self._allowance.usual_again(mean_ns([block]) or 0.0)
        search.measured(block, None if self._is_check else block.stall_fraction(self._pace.waits_ns))

    def _add_passes(self, search: Search, open_block: Block) -> None:
        """To the steps of all trials: passes went by meanwhile."""
        for trial in search.trials:
            newest = [open_block] if trial is search.current else []
            self._add_pass([*trial.blocks, *newest], trial.setting)

    def _add_pass(self, blocks: Sequence[Block], setting: LoaderSetting) -> None:
        self._passes.add_to(blocks, setting, self.pass_steps())

    def _why_no_pass(self, setting: LoaderSetting) -> str | None:
        """Nothing of it could be measured, ever."""
        steps = self.pass_steps()
        if steps is None or not setting.num_workers or steps - setting.capacity >= LEAST_UNIT:
            return None
        return f"a pass of {steps} steps ends while its queue of {setting.capacity} batches is still being filled"

    def _start_left_ns(self, setting: LoaderSetting, left_steps: int) -> float:
        """Of its workers, in what is left of the run: once more in each pass, where they do not persist."""
        steps = self.pass_steps()
        begins = left_steps // steps if steps and not setting.persistent_workers else 0
        return float(self.start_ns * (1 + begins))

    def _go_on(self, search: Search, now_ns: int, first_step: int) -> Order | None:
        self._block = None
        self._pace.begin_anew()
        self._ahead = self.ahead()
        while not search.is_over:
            if (why := self._why_no_turn(search, now_ns, first_step)) is not None:
                self._why_cut = why
                search.put_off(why)
            elif (why := self._why_not(search)) is not None:
                search.failed(why)
            else:
                break
        if not search.is_over:
            self._length = search.block_steps(self._wanted, self.setting)
            if not self._length:
                search.stop(USED_UP)
        if search.is_over:
            return self._conclude(search, now_ns, first_step)
        turn = search.current
        turn.open_block = self._block = Block(first_step, now_ns)
        self.changed()
        if turn.setting == self.setting:
            return None
        self.setting = turn.setting
        if turn is search.trials[0]:
            self._allowance.goes_back(self._clock_ns(now_ns), first_step)
        else:
            usual_ns = mean_ns(search.trials[0].blocks[-1:]) or 0.0
            self._allowance.candidate_began(self._clock_ns(now_ns), first_step, usual_ns)
        return Order(turn.setting, search.beside.setting)

    def _rest(self, known: Sequence[Block], stall_fraction: float, now_ns: int, first_step: int) -> Rest | None:
        """At the pace of these blocks; ``None``: trials may lose any time."""
        left = self.left_steps()
        if left is None or self.ends_after or not self.is_limited:
            return None
        step_ns, of_pass = mean_ns(known) or 0.0, self.left_of_pass()
        rest = Rest(left * step_ns, left * step_ns * stall_fraction)
        sure_ns = (left if of_pass is None else min(left, of_pass)) * step_ns
        return self._allowance.rest_of(rest, sure_ns, self._clock_ns(now_ns), first_step)

    def _why_too_dear(self, setting: LoaderSetting, rest: Rest | None, lost_ns: float) -> str | None:
        return self._allowance.why_no_trial(setting, self._starts(setting), self.start_ns, rest, lost_ns)

    def _starts(self, setting: LoaderSetting) -> int:
        """Of its workers, in its next block."""
        steps = max(self._wanted, least_steps(setting.num_workers))
        return starts_of(setting, steps, self.pass_steps(), self.left_of_pass())

    def _clock_ns(self, now_ns: int) -> int:
        """Of a clock that stops where the program pauses within a pass."""
        return now_ns - self._pace.paused_ns

    def _why_no_turn(self, search: Search, now_ns: int, first_step: int) -> str | None:
        """Whose turn it is would lose more time than trials may."""
        turn = search.current
        if turn is search.trials[0] or turn.setting == self.setting:
            return None
        lost_ns = self._allowance.lost_by(self._clock_ns(now_ns), first_step)
        return self._why_too_dear(turn.setting, self._allowance.rest, lost_ns)

    def _is_too_dear(self, search: Search, block: Block, now_ns: int, first_step: int) -> bool:
        """Cuts a search short that turns out to be so."""
        at_ns, turn = self._clock_ns(now_ns), search.current
        why = self._allowance.why_no_further(at_ns, first_step) if turn is not search.trials[0] else None
        if why is None:
            return False
        self._why_cut = why
        self._allowance.candidate_was_cut(turn.setting, at_ns, first_step)
        if self._pace.steps >= turn.least_steps:
            self._note_block(search, block, now_ns, first_step)
        else:
            block.steps, block.end_ns = first_step - block.first_step, now_ns
            search.use(block.steps)
            turn.cut_blocks.append(block)
            turn.open_block = None
        if not search.is_over:
            search.cut_short(why)
        return True

    def _why_not(self, search: Search) -> str | None:
        """Whose turn it is costs more to start than it could gain in what is known to be left of the run."""
        turn, best, left = search.current, search.best, self.left_steps()
        if (
            left is None
            or self.ends_after
            or turn.blocks
            or not turn.setting.num_workers
            or best.stall_fraction is None
        ):
            return None
        predicted = turn.candidate.high
        most = best.stall_fraction if predicted is None else min(best.stall_fraction, 1 - 1 / max(predicted, 1.0))
        gain_ns = left * (mean_ns(best.blocks) or 0.0) * most
        starts_ns = self._start_left_ns(turn.setting, left)
        if starts_ns <= gain_ns:
            return None
        where = " in all passes" if starts_ns > self.start_ns else ""
        return (
            f"its start takes {starts_ns / SECOND:.1f} s{where}, and in what is known to be left of the run it may "
            f"gain {gain_ns / SECOND:.1f} s"
        )

    def _conclude(self, search: Search, now_ns: int, first_step: int) -> Order | None:
        is_check, self._search, self._is_check = self._is_check, None, False
        self._ended_ns = now_ns
        self.trial_ns += now_ns - self._began_ns
        self._allowance.rest = None
        best = search.best
        is_other = best is not search.trials[0]
        self.went_back = is_check and is_other
        is_cut = bool(search.cut) and not is_other
        if is_cut:
            self._cut, self.lacks_time = search, True
        elif not is_check:
            self._residual = best.stall_fraction or 0.0
        if is_other and (ratio := search.ratio()) is not None:
            before = self.speedup
            self.speedup = before * ratio.speedup
            self.interval = before * ratio.low, before * ratio.high
        if best.setting == self.began_with:
            others = [trial for trial in search.trials[1:] if trial.setting != self.began_with]
            why_none = next((trial.reason for trial in others), None) if not any(t.blocks for t in others) else None
            self.status = tuning.WAITING if is_cut else tuning.LEFT_ALONE
            self.reason = self._why_cut if is_cut else WENT_BACK if self.went_back else why_none or NOTHING_FASTER
            self.speedup, self.interval = 1.0, None
        else:
            self.status, self.reason = tuning.KEPT, None
        if is_check and not is_other:
            self._before = next((trial for trial in search.trials[1:] if trial.blocks), self._before)
        else:
            self._before = search.trials[0] if self.status == tuning.KEPT and not is_check else None
            self._watch_steps = WATCHED * self._wanted
        is_switch = best.setting != self.setting
        self.setting = best.setting
        if is_switch and not is_other:
            self._allowance.goes_back(self._clock_ns(now_ns), first_step)
        elif is_other:
            self._allowance.turn_ended(self._clock_ns(now_ns), first_step)
        if not is_switch:
            self.kept_from_step, self.kept_at_steps = first_step, self.steps
        if is_other or not is_check:
            self.concluded()
        self.changed()
        if self.ends_after:
            return Order(best.setting, best.setting, is_end=True)
        return Order(best.setting, best.setting)


def steps_for_trials(asked: int | None, known_length: int | None) -> int:
    """``asked``: ``--tune-steps``. ``known_length``: steps that the training will take, as far as that is known."""
    if asked is not None:
        return asked
    return max(LEAST_STEPS, min(MOST_STEPS, round(STEPS_FRACTION * (known_length or 0))))
