"""How advice turned out: how often predictions were right, and how much lost time it would have saved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from underfed_server.advice.hours_saved import saved_at
from underfed_server.model import HitRate, LedgerEntry
from underfed_server.names import CauseName, ChangeName
from underfed_server.store.team.team_runs import TeamRun


def hit_rates(entries: Sequence[LedgerEntry]) -> list[HitRate]:
    """Of all advice, then by leading cause of the advised run, then by change; the most observed first.

    ``entries``: of all runs that carried an advice, each once.
    """
    if not entries:
        return []
    by_cause: dict[CauseName, list[LedgerEntry]] = defaultdict(list)
    by_change: dict[ChangeName, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        by_change[entry.change].append(entry)
        if entry.cause:
            by_cause[entry.cause].append(entry)
    causes = [_rate(proven, cause=cause) for cause, proven in by_cause.items()]
    changes = [_rate(proven, change=change) for change, proven in by_change.items()]
    return [_rate(entries), *_most_first(causes), *_most_first(changes)]


def _rate(proven: Sequence[LedgerEntry], cause: CauseName | None = None, change: ChangeName | None = None) -> HitRate:
    known = [entry for entry in proven if entry.inside_interval is not None]
    # An interval that nearly any gain is inside of can be missed, and not hit.
    inside = [bool(entry.inside_interval) for entry in known if entry.is_narrow or not entry.inside_interval]
    errors = [
        abs(entry.observed_speedup / entry.predicted_speedup - 1)
        for entry in proven
        if entry.observed_speedup and entry.predicted_speedup
    ]
    return HitRate(
        cause=cause,
        change=change,
        proven=len(proven),
        predicted=len(inside),
        inside=sum(inside),
        median_error=median(errors) if errors else None,
    )


def _most_first(rates: Sequence[HitRate]) -> list[HitRate]:
    return sorted(rates, key=lambda rate: -rate.proven)


class Recoverable(NamedTuple):
    """Hours. ``low`` and ``high`` are ``None`` where an advice has no interval."""

    hours: float | None
    low: float | None
    high: float | None


NOTHING = Recoverable(None, None, None)


def recoverable(run: TeamRun) -> Recoverable:
    """How much of what the run lost its best advice would have saved: nothing known where none promises a gain.

    The gain was predicted from the newest steps; it is taken for the whole of the run.
    """
    gains = run.best_advice.gain_of_run if run.best_advice else NOTHING
    return Recoverable(*(gain and saved_at(gain, run.hours_used, run.hours_lost) for gain in gains))


def together(parts: Iterable[tuple[float, Recoverable]]) -> Recoverable:
    """Sum over several runs, each with the share that counts. Runs without a prediction add nothing."""
    known = [[each and share * each for each in found] for share, found in parts if found.hours is not None]
    if not known:
        return NOTHING
    return Recoverable(*(None if None in ends else sum(filter(None, ends)) for ends in zip(*known, strict=True)))
