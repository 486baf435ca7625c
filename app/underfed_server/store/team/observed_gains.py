"""What runs on some hosts gained beside what was predicted: what later predictions for these hosts learn from."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Connection, bindparam, or_, select

from underfed_server.store.databases import tables


@dataclass(frozen=True, slots=True)
class ObservedGain:
    run_ids: frozenset[str]
    """The run that shows it, and the one that it was predicted for."""
    predicted: float
    observed: float


_run, _judged, _rank = tables.run.c, tables.diagnosis.c, tables.rank.c
_HOSTNAMES: BindParameter[Any] = bindparam("hostnames", expanding=True)
# Built once: building a statement costs more than running it.
_NEWEST_ON = (
    select(_judged.body)
    .join(tables.run, _judged.run_id == _run.run_id)
    .where(
        _run.deleted_at.is_(None),
        _run.run_id.in_(select(_rank.run_id).where(_rank.hostname.in_(_HOSTNAMES))),
        or_(_run.observed_speedup.is_not(None), _judged.candidates.is_not(None)),
    )
    .order_by(_run.started_at.desc())
    .limit(bindparam("newest"))
)


def read_observed(connection: Connection, hostnames: Collection[str], newest: int) -> list[ObservedGain]:
    """By runs that carried advice, and by every setting that a run tried as it tuned itself: those that are kept are
    the lucky ones. The newest ``newest``, oldest first. A run that somebody threw away teaches nothing.
    """
    asked = {"hostnames": list(hostnames), "newest": newest}
    bodies = connection.execute(_NEWEST_ON, asked).scalars().all()
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
