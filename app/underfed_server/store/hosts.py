"""Which rank's samples show a rank's host and GPU: one rank a host takes them for all."""

from __future__ import annotations

from sqlalchemy import select

from underfed_server.store import tables
from underfed_server.store.lanes import HOST, kind_of
from underfed_server.store.tracks import Reader


def host_rank_of(reader: Reader, run_id: str, rank: int) -> int:
    """The rank that samples the host of ``rank``: itself where none does."""
    return next((each for each in _neighbours(reader, run_id, rank) if HOST in reader.lanes(run_id, each)), rank)


def gpu_lane_of(reader: Reader, run_id: str, rank: int) -> tuple[int, str] | None:
    """The rank that samples the GPU of ``rank``, and its lane.

    Of several GPUs that the process may use it is the one with the rank's local number among them, as frameworks
    assign them; ``None``: none is sampled.
    """
    for each in _neighbours(reader, run_id, rank):
        lanes = sorted((lane for lane in reader.lanes(run_id, each) if kind_of(lane) == "gpu"), key=_gpu_index)
        if lanes:
            local_rank = _local_rank(reader, run_id, rank)
            return each, lanes[local_rank] if local_rank < len(lanes) else lanes[0]
    return None


def _neighbours(reader: Reader, run_id: str, rank: int) -> list[int]:
    """The rank itself, then the others of its host."""
    table = tables.rank.c
    hostname = select(table.hostname).where(table.run_id == run_id, table.rank == rank).scalar_subquery()
    statement = select(table.rank).where(table.run_id == run_id, table.hostname == hostname).order_by(table.rank)
    return [rank, *(each for each in reader.connection.execute(statement).scalars() if each != rank)]


def _local_rank(reader: Reader, run_id: str, rank: int) -> int:
    table = tables.rank.c
    statement = select(table.local_rank).where(table.run_id == run_id, table.rank == rank)
    return reader.connection.execute(statement).scalar() or 0


def _gpu_index(lane: str) -> int:
    return int(lane.partition(":")[2])
