"""The last diagnosis of each run, as it is served, and the figures of it that the list of runs shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, or_, select, update

from underfed_server.ingest.posted import RunVerdict
from underfed_server.model import BestAdvice, Diagnosis
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import change, put
from underfed_server.store.runs.counted import ToCount, count_run, to_count
from underfed_server.store.runs.read_rates import columns_of, save_read_rate
from underfed_server.store.runs.status import LOST_AFTER, status_column, status_seen_within
from underfed_server.store.runs.summaries import OF_FINAL, is_final, run_columns

# Built once: building a statement costs more than running it.
_known = tables.diagnosis.c
_LAST = select(_known.body, _known.judged_at).where(_known.run_id == bindparam("run_id"))
_WITHIN = ("earliest", "latest")
# Names other than the columns': those stand for what is set.
_JUDGED_AGAIN = update(tables.diagnosis).where(_known.run_id == bindparam("of"), _known.body == bindparam("same"))
_NOTED = (
    update(tables.run)
    .where(tables.run.c.run_id == bindparam("of"))
    .values(judged_status=status_seen_within(*(bindparam(name, type_=tables.Instant) for name in _WITHIN)))
)


@dataclass(frozen=True, slots=True)
class ToSave:
    """What of a diagnosis is stored, made where that is made: who saves it receives windows meanwhile."""

    run_id: str
    body: str
    candidates: Sequence[Any] | None
    read_rate: Mapping[str, Any] | None
    counted: ToCount
    figures: Mapping[str, Any]
    """By column of the run's row."""

    @property
    def verdict(self) -> RunVerdict | None:
        """``None``: there is none."""
        if self.figures["bound"] == "unknown":
            return None
        return RunVerdict(**{each.name: self.figures[each.name] for each in fields(RunVerdict)})


def to_save(diagnosis: Diagnosis) -> ToSave:
    found = diagnosis.candidates
    return ToSave(
        diagnosis.run_id,
        diagnosis.model_dump_json(by_alias=True, exclude={"is_final"}),
        [found.model_dump(mode="json")] if found else None,
        columns_of(diagnosis.read_rate),
        to_count(diagnosis),
        _figures(diagnosis),
    )


def save_diagnosis(connection: Connection, now: datetime, found: ToSave) -> bool:
    """Replace the run's last diagnosis, in the list of runs too. ``False``: the new one equals it.

    Raises:
        NotFoundError: there is no such run.
    """
    run_id = found.run_id
    row = run_columns(connection, run_id, "project", "user")
    same = {"of": run_id, "same": found.body, "judged_at": now}
    changed = not connection.execute(_JUDGED_AGAIN, same).rowcount
    if changed:
        save_read_rate(connection, now, run_id, found.read_rate)
        count_run(connection, run_id, row, found.counted)
        said = {"run_id": run_id, "body": found.body, "candidates": found.candidates}
        put(connection, tables.diagnosis, said | {"judged_at": now, "changed_at": now})
    change(connection, tables.run, {"run_id": run_id, "changed_at": now, **found.figures})
    return changed


def read_named_rank(connection: Connection, run_id: str, loader: str | None) -> int | None:
    """The rank that by the last verdict keeps the others waiting with this loader; ``None``: none does."""
    known = read_diagnosis(connection, run_id)
    return next((line.rank for line in known.loaders if line.loader == loader), None) if known else None


def read_diagnosis(connection: Connection, run_id: str) -> Diagnosis | None:
    """``None``: the run was not judged yet.

    Raises:
        NotFoundError: there is no such run.
    """
    run = run_columns(connection, run_id, *OF_FINAL)
    row = connection.execute(_LAST, {"run_id": run_id}).one_or_none()
    if row is None:
        return None
    beside = {"judged_at": row.judged_at, "is_final": is_final(run)}
    return Diagnosis.model_validate_json(row.body).model_copy(update=beside)


def note_judged(
    connection: Connection, now: datetime, run_id: str, spark: Sequence[float | None], as_of: datetime | None = None
) -> None:
    """Note that the run was judged, or could not be: it is not judged again before it changes.

    ``spark``: see :class:`RunSummary`. ``as_of``: when it began to be read for that, by default now; what came later
    is not in it.
    """
    connection.execute(_NOTED, {"of": run_id, "spark": list(spark), **_judged(now, as_of or now)})


def note_confirmed(connection: Connection, now: datetime, run_ids: Sequence[str], as_of: datetime) -> None:
    """Note that the last verdicts on these runs hold for all that came until ``as_of``."""
    values = _judged(now, as_of)
    connection.execute(_NOTED, [{"of": run_id, **values} for run_id in run_ids])


def _judged(now: datetime, as_of: datetime) -> dict[str, datetime]:
    within = {"earliest": as_of - LOST_AFTER, "latest": as_of + LOST_AFTER}
    return {**within, "judged_at": as_of, "changed_at": now}


def unjudged(connection: Connection, now: datetime) -> list[str]:
    """Runs that changed since they were judged: a window came, or none for too long.

    The newest first.
    """
    run = tables.run.c
    # The last condition: judged before the clock was set back, so that newer windows seem older.
    is_old = or_(run.judged_at.is_(None), run.judged_at < run.last_seen_at, run.judged_at > now + LOST_AFTER)
    is_due = or_(is_old, run.judged_status != status_column(now))
    statement = select(run.run_id).where(run.deleted_at.is_(None), is_due)
    return list(connection.execute(statement.order_by(run.last_seen_at.desc())).scalars())


OF_RANKS = ("data_stall_fraction", "data_wait_us", "data_wait_p95_us", "queue_empty_fraction")
"""Of which the largest of all ranks is kept with the run."""


def _most(diagnosis: Diagnosis, name: str) -> Any:
    known = (getattr(each, name) for each in diagnosis.ranks)
    return max((value for value in known if value is not None), default=None)


def _figures(diagnosis: Diagnosis) -> dict[str, Any]:
    same = (
        "loader", "bound", "level", "is_mostly_paused", "steps_per_s", "samples_per_s", "hours_lost", "gpu_hours_lost",
        "hours_used",
    )  # fmt: skip
    best = diagnosis.best_advice
    gain, least, _ = best.gain_of_run if best else (None, None, None)
    carried = next((entry for entry in diagnosis.ledger if entry.run_id == diagnosis.run_id), None)
    return {name: getattr(diagnosis, name) for name in same} | {
        "data_stall_fraction": diagnosis.stated_stall_fraction,
        "cause": diagnosis.causes[0].cause if diagnosis.causes else None,
        **{f"max_{name}": _most(diagnosis, name) for name in OF_RANKS},
        "step_us": diagnosis.anatomy.step_us if diagnosis.anatomy else None,
        "copy_fraction": diagnosis.anatomy.copy_fraction if diagnosis.anatomy else None,
        "predicted_speedup": gain,
        "least_speedup": gain if least is None else least,
        "best_advice": best.model_dump(include=set(BestAdvice.model_fields), by_alias=True) if best else None,
        "observed_speedup": carried.observed_speedup if carried else None,
        "observed_low": carried.observed_low if carried else None,
    }
