"""Which of the runs that something came of is judged next: a first verdict comes before a fresher one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from underfed_server.api.held_verdicts import HeldVerdicts
from underfed_server.store.writing.counted_window import CountedWindow

APART_S = 1.0
"""Between two judgements of one run: windows come once a second."""

MOST_APART_S = 30.0
"""Between two judgements of a run whose verdict holds, where there is time: its cause may change all the same."""

MOST_CONFIRMED_S = 120.0
"""Where there is none: a verdict that was found so long ago is found anew before fresher ones."""

SPARED = 2.0
"""Judging runs whose verdicts hold may take one part in so many of the time."""

CONFIRM_S = 5.0
"""After which a verdict that holds is confirmed, if it was not found anew."""

LIVE_S = 30.0
"""A run of which no window came for so long is not counted among those to be judged."""

FIRST_AGAIN_S = 5.0
"""After which a run that still has no verdict, such as one that warms up, is before all others again."""

LATE_S = 8.0
"""From here on a verdict is before others, however steady: where there is time enough, none is older than ten."""

STEADY_S = 4.0
"""By so much younger counts a judgement that left the verdict as it was: where there is more to judge than time, what
changes is judged more often."""

FORGET_S = 600.0
"""After which nothing is known any more of a run that nothing comes from."""


@dataclass(slots=True)
class _Judged:
    at: float
    """When its verdict began to be found, or was confirmed."""
    found_at: float
    """When it began to be found."""
    came_at: float
    """When the last window came."""
    verdict: object | None = None
    """``None``: there is none."""
    is_steady: bool = False
    is_found: bool = False
    """That of the last judgement is known: one that failed, or is in hand, holds for nothing."""


class DueRuns:
    """Times are of one monotonic clock, in seconds. Not for several threads at once."""

    def __init__(self, *, sees_all: bool = True) -> None:
        """``sees_all``: every window is noted here; otherwise no verdict is known to hold."""
        self._sees_all = sees_all
        self._due: dict[str, float] = {}
        self._judged: dict[str, _Judged] = {}
        self._held = HeldVerdicts()
        self._apart_s = APART_S

    def touch(self, run_ids: Iterable[str], now: float) -> None:
        """Something happened to these runs."""
        for run_id in run_ids:
            self._due.setdefault(run_id, self._due_at(run_id, now))

    def note(self, stored: Sequence[CountedWindow], now: float) -> None:
        """These windows came."""
        contradicted = self._held.note(stored) if self._sees_all else ()
        run_ids = {each.window.run_id for each in stored}
        for run_id in run_ids & self._judged.keys():
            self._judged[run_id].came_at = now
        self.touch(run_ids, now)
        for run_id in contradicted:
            self._due[run_id] = min(self._due[run_id], self._due_at(run_id, now))

    def next_at(self, but: Collection[str] = ()) -> float | None:
        """When the next one is due that is not among ``but``; ``None``: nothing came."""
        return min((due_at for run_id, due_at in self._due.items() if run_id not in but), default=None)

    def ready(self, now: float) -> list[str]:
        """Those that are due, in the order in which they are to be judged."""
        ready = [run_id for run_id, due_at in self._due.items() if due_at <= now]
        return sorted(ready, key=lambda run_id: self._turn(run_id, now))

    def take(self, run_id: str, now: float) -> None:
        """It is judged now."""
        del self._due[run_id]
        known = self._judged.setdefault(run_id, _Judged(now, now, now))
        known.at = known.found_at = now
        known.is_found = False
        self._held.begin(run_id)

    def confirm(self, now: float) -> list[str]:
        """Confirm the verdicts that hold and have waited for it. Returns whose they are."""
        found_since, at = now - MOST_CONFIRMED_S, now - CONFIRM_S
        waiting = (run_id for run_id, each in self._judged.items() if each.at <= at and each.found_at > found_since)
        confirmed = [run_id for run_id in waiting if self._holds(run_id)]
        for run_id in confirmed:
            self._judged[run_id].at = now
            self._held.confirm(run_id)
        return confirmed

    def note_verdict(self, run_id: str, verdict: object | None) -> None:
        """What a run that was taken was judged to be; ``None``: nothing yet."""
        judged = self._judged[run_id]
        judged.is_steady = verdict is not None and verdict == judged.verdict
        judged.verdict, judged.is_found = verdict, True
        if run_id in self._due:
            self._due[run_id] = self._due_at(run_id, judged.at)

    def defer(self, run_id: str, until: float) -> None:
        """A run that was taken is not due before, whatever comes."""
        self._judged[run_id].at = until - APART_S

    def note_pace(self, judgement_s: float, now: float) -> None:
        """So long a judgement takes: the more runs, the less often one whose verdict holds is judged anew."""
        live = sum(each.came_at > now - LIVE_S for each in self._judged.values())
        self._apart_s = min(MOST_APART_S, max(APART_S, SPARED * live * judgement_s))

    def forget_silent(self, now: float) -> None:
        silent = [run_id for run_id, each in self._judged.items() if each.at <= now - FORGET_S]
        for run_id in silent:
            del self._judged[run_id]
            self._held.forget(run_id)

    def _due_at(self, run_id: str, now: float) -> float:
        judged = self._judged.get(run_id)
        if judged is None:
            return now
        if self._holds(run_id):
            return max(now, judged.found_at + self._apart_s)
        return max(now, judged.at + APART_S)

    def _holds(self, run_id: str) -> bool:
        judged = self._judged[run_id]
        return judged.verdict is not None and judged.is_found and self._held.holds(run_id)

    def _turn(self, run_id: str, now: float) -> tuple[int, float, float]:
        judged = self._judged.get(run_id)
        if judged is None:
            return 0, 0.0, self._due[run_id]
        is_late = judged.at <= now - (FIRST_AGAIN_S if judged.verdict is None else LATE_S)
        if is_late or judged.found_at <= now - MOST_CONFIRMED_S:
            return 1, judged.at - (0.0 if judged.verdict else LATE_S - FIRST_AGAIN_S), self._due[run_id]
        return 2 + self._holds(run_id), judged.at + (STEADY_S if judged.is_steady else 0.0), self._due[run_id]
