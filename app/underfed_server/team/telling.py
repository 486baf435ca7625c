"""What several ranks told of the host that they share, taken together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from underfed_server.model import HostRun
from underfed_server.store.team.machines import Placed, RankThere


def cpus_seen(rank: RankThere) -> int:
    """Whoever may use most of the host sees most of it; others only fill the gaps."""
    return rank.facts.get("allowed_cpus") or 0


def widest_facts(ranks: Sequence[RankThere]) -> Mapping[str, Any]:
    return max(ranks, key=cpus_seen).facts if ranks else {}


def reasons_of(ranks: Sequence[RankThere]) -> dict[str, str]:
    """Why facts were not measured; where ranks differ, as the first says."""
    return {fact: why for rank in reversed(ranks) for fact, why in rank.not_measured.items()}


def is_limited(limit_bytes: int | None, total_bytes: int | None) -> bool:
    """The control group may have less memory than there is."""
    return limit_bytes is not None and (total_bytes is None or limit_bytes < total_bytes)


def host_run(run: Placed, own_cores: float | None) -> HostRun:
    same = [name for name in HostRun.model_fields if name != "own_cores"]
    return HostRun(**{name: getattr(run, name) for name in same}, own_cores=own_cores)
