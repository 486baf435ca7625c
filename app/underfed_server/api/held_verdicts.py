"""Whether the verdict on a run holds for what came of it since: then it need not be found again at once.

A verdict is on means over the newest steps that are judged. They are kept here too, of each rank and loader and of the
whole run, and each window is added as it comes. While none has moved by more than a verdict leaves open anyway, and
nothing but further steps and epochs came, finding it anew would say the same. What else it says (its cause, its advice)
may change while the means stay: so it is found anew from time to time, however well it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.ingest.wire import Window
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.writing.counted_window import CountedSteps, CountedWindow

LEAST_SHARE, MOST_SHARE, SHARE_OF_SHARE = 0.005, 0.02, 0.1
"""By so much the share of waiting may move: a tenth of it, at least half a point, at most two, which a sentence that
rounds to whole points hardly shows."""

PACE = 0.05
"""By so much the mean step may change."""

OF_RANK = 2.0
"""So many times as much may those of one rank: of a run's they are a part, and one stall moves them further."""

OF_FEW = 3.0
"""At most so many times as much may those of fewer steps than are judged of a rank: the mean of a quarter as many is
twice as uncertain, and no less so if it is found anew while other runs have no verdict at all."""

SAYS_MORE = ("run", "loaders", "workers", "storage", "tuning", "switch", "end")
"""Parts of a window by which a verdict may change at once."""


@dataclass(slots=True)
class _Sums:
    """Over the newest steps, older ones fading away."""

    steps: float = 0.0
    step_us: float = 0.0
    data_wait_us: float = 0.0
    gpu_idle_us: float = 0.0

    def add(self, other: _Sums, times: float = 1.0) -> None:
        self.steps += times * other.steps
        self.step_us += times * other.step_us
        self.data_wait_us += times * other.data_wait_us
        self.gpu_idle_us += times * other.gpu_idle_us

    def means(self) -> _Means:
        steps, whole_us = max(1.0, self.steps), self.step_us or 1.0
        return _Means(steps, self.step_us / steps, self.data_wait_us / whole_us, self.gpu_idle_us / whole_us)


@dataclass(frozen=True, slots=True)
class _Means:
    steps: float
    """They are of so many."""
    step_us: float
    waiting: float
    """Share of the steps."""
    idling: float
    """Likewise, of the device where it is timed."""

    def contradict(self, judged: _Means, leeway: float = 1.0) -> bool:
        """Whether they would change what was said of those that were judged."""
        leeway *= min(OF_FEW, max(1.0, THRESHOLDS.judged_steps / judged.steps) ** 0.5)
        return (
            _moved(judged.waiting, self.waiting, leeway)
            or _moved(judged.idling, self.idling, leeway)
            or abs(self.step_us - judged.step_us) > leeway * PACE * judged.step_us
        )


def _moved(before: float, now: float, leeway: float) -> bool:
    return abs(now - before) > leeway * min(MOST_SHARE, max(LEAST_SHARE, SHARE_OF_SHARE * before))


_Lane = tuple[int, str]
"""Rank and lane."""


@dataclass(slots=True)
class _Run:
    lanes: dict[_Lane, _Sums] = field(default_factory=dict)
    whole: _Sums = field(default_factory=_Sums)
    judged: dict[_Lane, _Means] = field(default_factory=dict)
    """As they were when the run was judged last."""
    judged_whole: _Means | None = None
    """``None``: it was not judged yet."""
    is_contradicted: bool = False
    """Something came that may change the verdict since."""
    has_come: bool = False
    """Any window since the verdict was found or confirmed."""


class HeldVerdicts:
    """Of the runs that windows come of. Not for several threads at once."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}

    def note(self, stored: Sequence[CountedWindow]) -> set[str]:
        """Add these windows. Returns the runs whose verdict holds no more, since one of them came."""
        contradicted = set()
        for each in stored:
            window = each.window
            run = self._runs.setdefault(window.run_id, _Run())
            held = not run.is_contradicted
            run.has_come = True
            run.is_contradicted |= _says_more(window)
            for steps in (*each.steps, *_begun(window)):
                _add(run, (window.rank, steps.lane), steps)
            if held and run.is_contradicted:
                contradicted.add(window.run_id)
        return contradicted

    def begin(self, run_id: str) -> None:
        """Note that the run is judged as it is now."""
        run = self._runs.setdefault(run_id, _Run())
        run.judged = {lane: sums.means() for lane, sums in run.lanes.items()}
        run.judged_whole = run.whole.means()
        run.is_contradicted = run.has_come = False

    def confirm(self, run_id: str) -> None:
        """Note that the last verdict was found to hold until now."""
        self._runs[run_id].has_come = False

    def holds(self, run_id: str) -> bool:
        """Whether windows came since, and all of them say what the last verdict says."""
        run = self._runs.get(run_id)
        return run is not None and run.judged_whole is not None and run.has_come and not run.is_contradicted

    def forget(self, run_id: str) -> None:
        self._runs.pop(run_id, None)


def _begun(window: Window) -> Iterator[CountedSteps]:
    """What it took that Epochs began, which is before their first steps. Found anew, a verdict may blame that; until
    then it says how much it is."""
    for each in window.epochs:
        took_us = each.iterator_us or 0
        yield CountedSteps(steps_lane(each.loader), 0, each.first_step_index, took_us, took_us, 0)


def _says_more(window: Window) -> bool:
    return any(getattr(window, name) for name in SAYS_MORE)


def _add(run: _Run, lane: _Lane, steps: CountedSteps) -> None:
    sums = run.lanes.get(lane)
    if sums is None:
        sums = run.lanes[lane] = _Sums()
    whole, room = run.whole, max(0, THRESHOLDS.judged_steps - steps.rows)
    if sums.steps > room:
        fading = room / sums.steps - 1.0
        whole.add(sums, fading)
        sums.add(sums, fading)
    new = _Sums(steps.rows, steps.step_us, steps.data_wait_us, steps.gpu_idle_us)
    whole.add(new)
    sums.add(new)
    if run.judged_whole is not None and not run.is_contradicted:
        judged = run.judged.get(lane)
        run.is_contradicted = (
            judged is None or sums.means().contradict(judged, OF_RANK) or whole.means().contradict(run.judged_whole)
        )
