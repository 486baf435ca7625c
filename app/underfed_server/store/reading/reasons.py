"""Why something of a run was not measured, as its agents told it."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, bindparam, select

from underfed_server.store.databases import tables

# Made once: putting a statement together costs more than running it.
_rank, _loader = tables.rank.c, tables.loader.c
_TOLD = select(_rank.not_measured).where(_rank.run_id == bindparam("run_id")).order_by(_rank.rank.desc())
_OF_LOADER = select(_loader.info).where(_loader.run_id == bindparam("run_id"), _loader.loader == bindparam("loader"))


def read_reasons(connection: Connection, run_id: str, loader: str | None) -> Mapping[str, str]:
    """By fact; what was told with the loader wins over what was told of the run, a low rank over a high one."""
    told: dict[str, str] = {}
    for reasons in connection.execute(_TOLD, {"run_id": run_id}).scalars():
        told |= reasons
    info = connection.execute(_OF_LOADER, {"run_id": run_id, "loader": loader}).scalar()
    if info is not None:
        told |= info.get("not_measured", {})
    return told
