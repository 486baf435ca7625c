"""Which of the runs that something came of is judged next: a first verdict comes before a fresher one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

APART_S = 1.0
"""Between two judgements of one run: windows come once a second."""

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
    """When it began."""
    verdict: object | None = None
    """``None``: there is none."""
    is_steady: bool = False


class DueRuns:
    """Times are of one monotonic clock, in seconds. Not for several threads at once."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._judged: dict[str, _Judged] = {}

    def touch(self, run_ids: Iterable[str], now: float) -> None:
        """Something came of these runs."""
        for run_id in run_ids:
            judged = self._judged.get(run_id)
            self._due.setdefault(run_id, now if judged is None else max(now, judged.at + APART_S))

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
        known = self._judged.get(run_id)
        if known is None:
            self._judged[run_id] = _Judged(now)
        else:
            known.at = now

    def note(self, run_id: str, verdict: object | None) -> None:
        """What a run that was taken was judged to be; ``None``: nothing yet."""
        judged = self._judged[run_id]
        judged.is_steady = verdict is not None and verdict == judged.verdict
        judged.verdict = verdict

    def defer(self, run_id: str, until: float) -> None:
        """A run that was taken is not due before, whatever comes."""
        self._judged[run_id].at = until - APART_S

    def forget_silent(self, now: float) -> None:
        self._judged = {run_id: each for run_id, each in self._judged.items() if each.at > now - FORGET_S}

    def _turn(self, run_id: str, now: float) -> tuple[int, float, float]:
        judged = self._judged.get(run_id)
        if judged is None:
            return 0, 0.0, self._due[run_id]
        is_late = judged.at <= now - (FIRST_AGAIN_S if judged.verdict is None else LATE_S)
        if is_late:
            return 1, judged.at - (0.0 if judged.verdict else LATE_S - FIRST_AGAIN_S), self._due[run_id]
        return 2, judged.at + (STEADY_S if judged.is_steady else 0.0), self._due[run_id]
