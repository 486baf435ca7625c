"""What runs on some hosts gained beside what was predicted: what later predictions for these hosts learn from."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, or_, select

from underfed_server.store.databases import tables


@dataclass(frozen=True, slots=True)
class ObservedGain:
    run_ids: frozenset[str]
    """The run that shows it, and the one that it was predicted for."""
    predicted: float
    observed: float


def read_observed(connection: Connection, hostnames: Collection[str], newest: int) -> list[ObservedGain]:
    """By runs that carried advice, and by every setting that a run tried as it tuned itself: those that are kept are
    the lucky ones. The newest ``newest``, oldest first. A run that somebody threw away teaches nothing.
    """
    run, judged, rank = tables.run.c, tables.diagnosis.c, tables.rank.c
    was_there = run.run_id.in_(select(rank.run_id).where(rank.hostname.in_(hostnames)))
    shows_any = or_(run.observed_speedup.is_not(None), judged.candidates.is_not(None))
    statement = select(judged.body).join(tables.run, judged.run_id == run.run_id)
    statement = statement.where(run.deleted_at.is_(None), was_there, shows_any)
    bodies = connection.execute(statement.order_by(run.started_at.desc()).limit(newest)).scalars().all()
    return [gain for body in reversed(bodies) for gain in _gains(json.loads(body))][-newest:]


def _gains(diagnosis: dict[str, Any]) -> Iterator[ObservedGain]:
    own = diagnosis["run_id"]
    for entry in diagnosis["ledger"]:
        # What it kept itself is among its trials.
        if entry["run_id"] == own != entry["advice_of"] and entry["observed_speedup"] and entry["predicted_speedup"]:
            both = frozenset((own, entry["advice_of"]))
            yield ObservedGain(both, entry["predicted_speedup"], entry["observed_speedup"])
    for trial in diagnosis.get("trials", ()):
        if trial["number"] and trial["speedup"] and trial["predicted_speedup"]:
            yield ObservedGain(frozenset((own,)), trial["predicted_speedup"], trial["speedup"])
