"""The ranks of a run on one host: whether all are here, and the plan by which all of them switch at the same step."""

from __future__ import annotations

from pathlib import Path

from underfed.exchange import run_files
from underfed.trainer.tuning.conductor import Order
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.plan import AHEAD, FILE, Plan, Planned

SECOND = 1_000_000_000
AWAITED_NS = 30 * SECOND
"""So long all ranks of the run are awaited on this host."""


class Ranks:
    """``directory``: of the run on this host. ``present``: the setting in use."""

    def __init__(self, directory: Path, world_size: int, present: LoaderSetting) -> None:
        self._directory = directory
        self._wanted = world_size
        self._plan = Plan(directory / FILE)
        self._plan.read(present)
        self._planned: Planned | None = None
        self._missing = world_size
        self._due_ns = 0
        self._awaited_ns: int | None = None

    def are_here(self, now_ns: int) -> bool:
        """Whether all of them record on this host."""
        if self._missing and now_ns >= self._due_ns:
            self._due_ns = now_ns + SECOND
            self._awaited_ns = self._awaited_ns or now_ns
            names = [path.name for path in run_files.rank_directories(self._directory)]
            self._missing = max(0, self._wanted - len({name.split("-")[1] for name in names}))
        return not self._missing

    def why_never(self, now_ns: int) -> str | None:
        """``None``: they may still come."""
        if not self._missing or self._awaited_ns is None or now_ns - self._awaited_ns <= AWAITED_NS:
            return None
        return f"{self._missing} of {self._wanted} ranks are on other hosts, and all have to switch at the same step"

    def plan(self, order: Order, step: int) -> None:
        """All do it, a few steps after this one."""
        self._plan.write(Planned(step + AHEAD, order.setting, order.keep, order.is_end))

    def due(self, step: int, present: LoaderSetting | None, *, is_switching: bool) -> Order | None:
        """What this rank is to do at this step."""
        if present is not None:
            self._planned = self._plan.read(present) or self._planned
        planned = self._planned
        if planned is None or step < planned.step or is_switching:
            return None
        self._planned = None
        return Order(planned.setting, planned.keep, planned.is_end)
