"""How much time trials may lose, and have lost: against what their steps would have taken under the setting in use.

A known number of steps bounds trials well where passes are long. Where they are short each of them starts workers, so a
few steps may take far longer than usual.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from underfed.trainer.tuning.blocks import LEAST_UNIT
from underfed.trainer.tuning.loader_setting import LoaderSetting

SECOND = 1_000_000_000

MOST_LOST = 0.02
"""Of what is known to be left of the run, which is as long as it has taken: so 1 % of both."""

MOST_STAKED = 0.1
"""Of the wait in that, which is gained at most: the more there may be to gain, the more may be lost."""

FORKED_NS = 50_000_000
"""A forked worker is taken to cost at least so much, from its start to its end, until one was started: 60 to 100 ms
where other processes use all cores."""

PROBED = 2.0
"""Times as much as a process that is forked and ends at once takes a worker: 0.5 to 3.6 times on a host of two cores
that twenty processes wanted, with a training of 0.3 or 1.8 GB."""

UNSURE = 10
"""Times as much as it is taken to cost a worker may cost of which nothing was seen. Where that may be lost, no process
is forked to see it."""

ONCE_MORE = 2.0
"""Times as much as a turn had lost when it was cut short it is expected to lose the next time: nobody knows how much of
it was to come."""

MOST_DIGITS = 6


def distinguished(one: float, other: float) -> tuple[str, str]:
    """With as many digits as two different numbers need to be read as different."""
    digits = next((each for each in range(1, MOST_DIGITS) if round(one, each) != round(other, each)), MOST_DIGITS)
    return f"{one:.{digits}f}", f"{other:.{digits}f}"


class Rest(NamedTuple):
    """What is known to be left of the run."""

    left_ns: float
    wait_ns: float
    """Of it, under the setting in use."""

    @property
    def limit_ns(self) -> float:
        return MOST_LOST * self.left_ns + MOST_STAKED * self.wait_ns

    def why_exceeded(self, lost: str, lost_ns: float) -> str:
        """``lost``: a sentence with a place for so many seconds, more than the limit."""
        left, wait = self.left_ns / SECOND, self.wait_ns / SECOND
        seconds, limit = distinguished(lost_ns / SECOND, self.limit_ns / SECOND)
        return (
            f"{lost.format(seconds)}, more than the {limit} s that they may: 2 % of the {left:.0f} s that are known to "
            f"be left of the run, and a tenth of the {wait:.0f} s that it would wait in these"
        )


@dataclass(slots=True, eq=False)
class Turn:
    """Consecutive steps under others than the setting in use, from the switch to the first of them until that setting
    loads again and its start-up is over."""

    began_ns: int
    first_step: int
    usual_ns: float
    """Of a step of the setting in use, with its part of what a pass costs: just before, and once it is measured again
    the mean of before and after, since a host may have become slower or faster meanwhile."""

    def lost_by(self, now_ns: int, first_step: int) -> float:
        """Below 0: it was gained."""
        return now_ns - self.began_ns - (first_step - self.first_step) * self.usual_ns


@dataclass(slots=True, eq=False)
class Allowance:
    """All searches of a run together. What the program does between its passes is left out. Instants are of a clock
    that stops where the program pauses."""

    rest: Rest | None = None
    """Of the search that goes on; ``None``: there is none, or no limit."""
    _lost_ns: float = 0.0
    """By turns before."""
    _turn: Turn | None = None
    _ended: tuple[Turn, int, int] | None = None
    """The last turn and where it ended, until the setting in use is measured again."""
    _began_ns: int | None = None
    _outside_ns: int = 0
    """Since the run began: what the program did between its passes."""
    _end_ns: int = 0
    _waited_ns: int = 0
    """By steps under the setting in use."""
    _candidate_lost_ns: float = 0.0
    """Before the candidate that is measured."""
    _has_started: bool = False
    """Its start-up is over."""
    _worker_ns: float = FORKED_NS
    """What a worker cost at the last start, or costs at least."""
    knows_workers: bool = False
    """What one costs was seen, here or of another process."""
    _back_lost_ns: float | None = None
    """As the setting in use was ordered again, which does not load yet."""
    _back_ns: float = 0.0
    """The most that the way back to it lost: workers end."""
    _cut_ns: dict[LoaderSetting, float] = field(default_factory=dict)
    """What was lost by the trial of a candidate that was cut short."""

    def widen(self, rest: Rest | None) -> None:
        """More of the run is known while the search goes on."""
        if rest is None or self.rest is None or rest.limit_ns > self.rest.limit_ns:
            self.rest = rest

    # What was lost

    def candidate_began(self, now_ns: int, first_step: int, usual_ns: float) -> None:
        """It is switched to, from the setting in use or from another candidate."""
        self._back_lost_ns, self._has_started = None, False
        self._candidate_lost_ns = self.lost_by(now_ns, first_step)
        if self._turn is None:
            self._turn = Turn(self._at(now_ns), first_step, usual_ns)

    def candidate_was_cut(self, setting: LoaderSetting, now_ns: int, first_step: int) -> None:
        self._cut_ns[setting] = lost_ns = self.lost_by(now_ns, first_step) - self._candidate_lost_ns
        if not self._has_started:
            self.started(setting, lost_ns)

    def started(self, setting: LoaderSetting, took_ns: float) -> None:
        """The start-up of the candidate took so long, beside its steps."""
        self._has_started = True
        if setting.num_workers:
            self.worker_took(took_ns / setting.num_workers)

    def worker_took(self, took_ns: float) -> None:
        """One was started for so long."""
        self._worker_ns, self.knows_workers = max(FORKED_NS, took_ns), True

    def probed(self, took_ns: int) -> None:
        """A process that is forked, and ends at once, takes so long, which is lost. 0: there was none."""
        self._lost_ns += took_ns
        self.worker_took(PROBED * took_ns)

    def goes_back(self, now_ns: int, first_step: int) -> None:
        """The setting in use is ordered again."""
        self._back_lost_ns = self.lost_by(now_ns, first_step)

    def turn_ended(self, now_ns: int, first_step: int) -> None:
        """The setting in use loads again, or another one stays."""
        if self._turn is None:
            return
        if self._back_lost_ns is not None:
            self._back_ns = max(self._back_ns, self.lost_by(now_ns, first_step) - self._back_lost_ns)
        self._settle()
        self._ended, self._turn, self._back_lost_ns = (self._turn, self._at(now_ns), first_step), None, None

    def workers_ended(self, took_ns: int) -> None:
        """Of candidates that are not needed any more. In a turn its own length has it."""
        if self._turn is None:
            self._lost_ns += took_ns

    def usual_again(self, usual_ns: float) -> None:
        """A step of the setting in use takes so long since the last turn."""
        if self._ended is not None:
            turn = self._ended[0]
            turn.usual_ns = (turn.usual_ns + usual_ns) / 2
            self._settle()

    def _settle(self) -> None:
        if self._ended is not None:
            turn, ended_ns, first_step = self._ended
            self._lost_ns += turn.lost_by(ended_ns, first_step)
            self._ended = None

    @property
    def awaits_usual(self) -> bool:
        return self._ended is not None

    def lost_by(self, now_ns: int, first_step: int) -> float:
        """By all searches together, what their steps gained off."""
        lost_ns = self._lost_ns
        if self._ended is not None:
            turn, *end = self._ended
            lost_ns += turn.lost_by(*end)
        if self._turn is not None:
            lost_ns += self._turn.lost_by(self._at(now_ns), first_step)
        return max(0.0, lost_ns)

    # How long the run is

    def run_began(self, now_ns: int) -> None:
        if self._began_ns is None:
            self._began_ns = now_ns

    def waited(self, wait_ns: int) -> None:
        """By a step under the setting in use."""
        self._waited_ns += wait_ns

    def pass_ended(self, took_ns: int) -> None:
        self._end_ns = took_ns

    def pass_began(self, now_ns: int, last_ns: int) -> None:
        """``last_ns``: the last request of the pass before."""
        if self._began_ns is None:
            self.run_began(now_ns)
        else:
            self._outside_ns += max(0, now_ns - last_ns - self._end_ns)
        self._end_ns = 0

    def _at(self, now_ns: int) -> int:
        return now_ns - self._outside_ns

    def rest_of(self, estimated: Rest, sure_ns: float, now_ns: int, first_step: int) -> Rest:
        """``estimated``: by how many passes there were. ``sure_ns``: of that what is left of this pass, which is sure.
        However slow steps are just now, no more is known than that and as much as has passed without trials."""
        passed_ns = self._at(now_ns) - (self._began_ns or 0) - self.lost_by(now_ns, first_step)
        sure_wait_ns = sure_ns * estimated.wait_ns / estimated.left_ns if estimated.left_ns else 0.0
        return Rest(min(estimated.left_ns, passed_ns + sure_ns), min(estimated.wait_ns, self._waited_ns + sure_wait_ns))

    # What may be tried

    def why_no_trial(
        self, setting: LoaderSetting, starts: int, start_ns: int, rest: Rest | None, lost_ns: float
    ) -> str | None:
        """Of so many starts of its workers, of which one was seen to take ``start_ns``; ``None``: it may be.
        ``lost_ns``: by now."""
        of_starts = starts * max(start_ns, setting.num_workers * self._worker_ns)
        expected_ns = lost_ns + max(of_starts, ONCE_MORE * self._cut_ns.get(setting, 0.0)) + self._back_ns
        if rest is None or expected_ns <= rest.limit_ns:
            return None
        count = f"{starts} starts" if starts > 1 else "a start"
        so_far = f" and the {lost_ns / SECOND:.1f} s that they had lost before" if lost_ns else ""
        return rest.why_exceeded(f"trials would lose {{}} s, by {count} of workers{so_far}", expected_ns)

    def is_unsure(self, setting: LoaderSetting, starts: int, rest: Rest | None, lost_ns: float) -> bool:
        """Whether its trial may lose more than it may, as nothing was seen of what a worker costs."""
        if self.knows_workers or rest is None:
            return False
        return lost_ns + UNSURE * starts * setting.num_workers * self._worker_ns > rest.limit_ns

    def why_no_further(self, now_ns: int, first_step: int) -> str | None:
        """The search has lost what it may, the way back included; ``None``: it may go on."""
        lost_ns = self.lost_by(now_ns, first_step) + self._back_ns
        if self.rest is None or lost_ns <= self.rest.limit_ns:
            return None
        return self.rest.why_exceeded("trials had lost {} s", lost_ns)


def starts_of(setting: LoaderSetting, block_steps: int, pass_steps: int | None, left_of_pass: int | None = None) -> int:
    """Of its workers, in a block of so many measured steps: at the switch, and in each further pass that it takes.
    ``left_of_pass``: steps of the pass that goes on; ``None``: not known, it is taken to begin."""
    if not setting.num_workers:
        return 0
    if pass_steps is None or setting.persistent_workers:
        return 1
    of_pass = max(LEAST_UNIT, pass_steps - setting.capacity)
    here = of_pass if left_of_pass is None else max(0, min(of_pass, left_of_pass - setting.capacity))
    return 1 + ceil(max(0, block_steps - here) / of_pass)
