"""Which runs of a host need more of it than there is, in sentences, from what they use now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from underfed_server.model import HostCores, HostRun

SCARCE_FRACTION = 0.05
"""Free share of the cores or memory below which a run that needs more takes it from another."""

OTHERS_FRACTION = 0.20
"""Share of the cores used by others that is worth naming: less is the system's own work and noise."""

NAMED = 3


def competing_for(
    runs: Sequence[HostRun], cores: HostCores, memories: Mapping[str, tuple[int | None, int | None]]
) -> list[str]:
    """Nothing where there is enough for all, or where it was not measured.

    ``memories``: of each, the bytes in use and their limit.
    """
    found = list(_for_cores(runs, cores))
    for what, (used, limit) in memories.items():
        if len(runs) > 1 and used is not None and limit and limit - used < SCARCE_FRACTION * limit:
            found.append(f"{named(runs)} share {what} of which {(limit - used) / limit:.0%} is left.")
    return found


def _for_cores(runs: Sequence[HostRun], cores: HostCores) -> Iterator[str]:
    usable = cores.usable
    if not usable or cores.idle is None or cores.others is None or cores.idle >= SCARCE_FRACTION * usable:
        return
    if len(runs) > 1:
        yield f"{named(runs)} compete for {usable:g} cores, of which {cores.idle:.1f} are idle."
    if cores.others >= OTHERS_FRACTION * usable:
        yield f"Other processes keep {cores.others:.1f} of the {usable:g} cores busy that {named(runs)} may use."


def named(runs: Sequence[HostRun]) -> str:
    """``a, b and c``; of many the first few."""
    names = [run.name for run in runs[:NAMED]]
    if len(runs) > NAMED:
        names = [*names[: NAMED - 1], f"{len(runs) - NAMED + 1} more runs"]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
