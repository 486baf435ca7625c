"""A run's diagnosis as it is served: also of a run not judged yet, and to a project's token without others' runs."""

from __future__ import annotations

import threading
from collections import OrderedDict

from underfed_server.diagnosis.judge import without_figures
from underfed_server.diagnosis.sentence import NO_LOADER, not_judged_yet, why_no_loader
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.errors import NotFoundError
from underfed_server.facts.hotspots import hot_lines, loading_in
from underfed_server.facts.loading import LEAST_SAMPLES
from underfed_server.ingest.permission import Permission
from underfed_server.model import Diagnosis, RunSummary
from underfed_server.store.reading.stacks import Version, read_stacks, read_version
from underfed_server.store.reading.tracks import Reader
from underfed_server.store.store import Store
from underfed_server.team.shared_causes import read_shared


def unjudged(run: RunSummary) -> Diagnosis:
    """No verdict and no figure, but the reason."""
    needed = THRESHOLDS.warmup_steps + THRESHOLDS.needed_steps
    said, reason = not_judged_yet(run.status, run.steps)
    if run.no_loader:
        said, reason = NO_LOADER, why_no_loader(run.no_loader)
    return Diagnosis(
        **dict(without_figures(said, reason, judged_steps=0)),
        run_id=run.run_id,
        status=run.status,
        steps=run.steps,
        loader=None,
        needed_steps=needed,
        warmup_steps=THRESHOLDS.warmup_steps,
        advice=[],
        refusals=[],
        ledger=[],
        judged_at=None,
    )


MOST_KEPT = 64
"""Loaders whose hotspots are kept, some tens of kilobytes each."""


class ServedHotspots:
    """What was sampled of loaders, merged over their ranks and kept until one of them sends more: unpacking that of 64
    ranks takes a tenth of a second, and open pages ask once a second. Any thread.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[Version, dict[str, object]]] = OrderedDict()
        # One at a time: pages that ask at once for the same ones have them merged once.
        self._lock = threading.Lock()

    def added_to(self, store: Store, found: Diagnosis) -> Diagnosis:
        """As sampled by now: they change with every burst, the verdict need not."""
        if found.loader is None:
            return found
        place = found.run_id, found.loader
        with self._lock, store.reading() as reader:
            version, kept = read_version(reader.connection, *place), self._kept.get(place)
            if kept is None or kept[0] != version:
                kept = version, _merged(reader, *place)
            self._kept[place] = kept
            self._kept.move_to_end(place)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return found.model_copy(update=kept[1])


def _merged(reader: Reader, run_id: str, loader: str) -> dict[str, object]:
    stacks = read_stacks(reader.connection, run_id, loader)
    loading, step = loading_in(stacks), loading_in(stacks, "step")
    told = {"hotspots": loading.hotspots, "hot_lines": hot_lines(loading), "slow_samples": loading.slow_samples}
    looks = {"looks": loading.seen, "step_looks": step.seen, "needed_looks": LEAST_SAMPLES}
    of_step = {"step_hotspots": step.hotspots, "step_lines": hot_lines(step)}
    return {**told, **looks, **of_step, "agent_fraction": loading.agent_fraction}


def visible_to(permission: Permission, store: Store, found: Diagnosis) -> Diagnosis:
    """``found`` without runs that the permission does not open, in its ledger and among those that share its cause."""
    if permission.project is None:
        return found
    ledger = [
        each for each in found.ledger if all(_opens(permission, store, run) for run in (each.run_id, each.advice_of))
    ]
    shared = read_shared(store, found, permission.project) if found.shared else []
    return found.model_copy(update={"ledger": ledger, "shared": shared})


def _opens(permission: Permission, store: Store, run_id: str) -> bool:
    try:
        return permission.opens(store.project_of(run_id))
    except NotFoundError:
        return False
