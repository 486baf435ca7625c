"""What stays of runs that were removed for good: the hours of past weeks do not change because somebody tidies up."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, exists, not_, select

from underfed_server.names import Projects
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import put


def are_gone(projects: Projects) -> ColumnElement[bool]:
    """Removed runs of these projects, or of any. One whose id was used again is counted by the run that has it now."""
    removed = tables.removed_run.c
    is_back = exists().where(tables.run.c.run_id == removed.run_id)
    return and_(not_(is_back), tables.is_of(removed.project, projects))


def keep_history(connection: Connection, run_id: str) -> None:
    """Keep what the figures of past weeks need of a run that is about to be removed. Of one never judged: nothing."""
    run, ranks, mounts = tables.run, tables.rank.c, tables.storage.c
    row = connection.execute(select(run).where(run.c.run_id == run_id)).mappings().first()
    if row is None or row["hours_lost"] is None or row["hours_used"] is None:
        return
    of_ranks = select(ranks.rank, ranks.hostname).where(ranks.run_id == run_id).order_by(ranks.rank)
    seen = select(mounts.rank, mounts.loader, mounts.mount, mounts.device, mounts.kind, mounts.files_seen)
    judged = and_(mounts.run_id == run_id, mounts.loader == row["loader"])
    kept = {
        **{name: row[name] for name in tables.removed_run.c.keys() if name in row},  # noqa: SIM118
        "ended_at": row["ended_at"] or row["last_seen_at"],
        "places": {
            "ranks": [dict(each) for each in connection.execute(of_ranks).mappings()],
            "mounts": [dict(each) for each in connection.execute(seen.where(judged)).mappings()],
            "loaders": _loaders(connection, run_id, row["loader"]),
        },
        "ledger": _ledger(connection, run_id),
    }
    put(connection, tables.removed_run, kept)


def _loaders(connection: Connection, run_id: str, judged: str | None) -> list[dict[str, Any]]:
    loader = tables.loader.c
    statement = select(loader.loader, loader.info).where(loader.run_id == run_id, loader.loader == judged)
    return [
        {"loader": row.loader, "info": {"dataset_type": row.info.get("dataset_type")}}
        for row in connection.execute(statement)
    ]


def _ledger(connection: Connection, run_id: str) -> list[dict[str, Any]]:
    """What the run itself gained by the advice that it carried."""
    judged = tables.diagnosis.c
    body = connection.execute(select(judged.body).where(judged.run_id == run_id)).scalar()
    entries: list[dict[str, Any]] = [] if body is None else json.loads(body)["ledger"]
    return [entry for entry in entries if entry["run_id"] == run_id and entry["observed_speedup"] is not None]
