"""How often predictions came true: over the ledgers of all runs that carried an advice, each counted once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from underfed_server.model import Cause, Change, HitRate, LedgerEntry


def hit_rates(entries: Sequence[LedgerEntry]) -> list[HitRate]:
    """Of all, then a line for each leading cause of the advised run, then one for each change; most proven first."""
    if not entries:
        return []
    by_cause: dict[Cause, list[LedgerEntry]] = defaultdict(list)
    by_change: dict[Change, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        by_change[entry.change].append(entry)
        if entry.cause:
            by_cause[entry.cause].append(entry)
    causes = [_rate(proven, cause=cause) for cause, proven in by_cause.items()]
    changes = [_rate(proven, change=change) for change, proven in by_change.items()]
    return [_rate(entries), *_most_first(causes), *_most_first(changes)]


def _rate(proven: Sequence[LedgerEntry], cause: Cause | None = None, change: Change | None = None) -> HitRate:
    inside = [entry.inside_interval for entry in proven if entry.inside_interval is not None]
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
