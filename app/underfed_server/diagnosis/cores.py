"""Whether the cores that a run may use are full, and with whose work."""

from __future__ import annotations

from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import load_share, other_cores, throttled_fraction, used_cores_fraction
from underfed_server.facts.record import HostShare, RankFacts


def are_in_use(rank: RankFacts, host: HostShare, limits: Limits) -> bool:
    """By anyone: one worker more finds none free. ``False`` also where that was not measured."""
    used = used_cores_fraction(rank, host)
    return used is not None and used >= limits.saturated_cores_fraction


def are_full(rank: RankFacts, host: HostShare, limits: Limits) -> bool:
    """They are in use, or loads were kept from them: by the queue for a core, or by the control group's quota."""
    queued = load_share(rank, rank.batches.runqueue_us)
    throttled = throttled_fraction(rank, host)
    return (
        are_in_use(rank, host, limits)
        or (queued is not None and queued >= limits.runqueue_fraction)
        or (throttled is not None and throttled >= limits.throttled_fraction)
    )


def are_shared(rank: RankFacts, host: HostShare, limits: Limits) -> bool:
    """Other programs take a notable part of them."""
    return bool(host.usable_cores) and other_cores(rank.process) >= limits.shared_cores_fraction * (
        host.usable_cores or 0.0
    )
