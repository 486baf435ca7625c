"""Which rank's samples show a rank's host and GPU: one rank per host samples for all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, or_, select

from underfed_server.store.columns.lanes import HOST, gpu_lane, kind_of
from underfed_server.store.databases import tables
from underfed_server.store.reading.tracks import Reader

_rank, _track = tables.rank.c, tables.track.c
# Built once: building a statement costs more than running it.
_RANKS = (
    select(_rank.rank, _rank.hostname, _rank.local_rank).where(_rank.run_id == bindparam("run_id")).order_by(_rank.rank)
)
_SAMPLED = (
    select(_track.rank, _track.lane)
    .where(
        *(_track.run_id == bindparam("run_id"), _track.rows > 0),
        or_(_track.lane == HOST, _track.lane.startswith("gpu:", autoescape=True)),
    )
    .distinct()
)


@dataclass(frozen=True, slots=True)
class Samplers:
    """Where each rank of a run runs, and what it samples."""

    hostnames: Mapping[int, str | None]
    local_ranks: Mapping[int, int | None]
    sampling_hosts: Sequence[int]
    gpu_indices: Mapping[int, Sequence[int]]
    """GPU indices by the rank that samples them."""

    def host_rank(self, rank: int) -> int:
        """The rank that samples the host of ``rank``: itself where none does."""
        return next((each for each in self._neighbours(rank) if each in self.sampling_hosts), rank)

    def gpus(self, rank: int) -> list[tuple[int, int]]:
        """``(sampled by, GPU index)`` of GPUs that ``rank`` samples, else of its own, sampled by another rank."""
        own = [(rank, index) for index in self.gpu_indices.get(rank, ())]
        chosen = None if own else self._gpu(rank)
        return own or ([chosen] if chosen else [])

    def gpu_lane(self, rank: int) -> tuple[int, str] | None:
        """The rank that samples the GPU of ``rank``, and its lane; ``None``: none is sampled."""
        chosen = self._gpu(rank)
        return None if chosen is None else (chosen[0], gpu_lane(chosen[1]))

    def _gpu(self, rank: int) -> tuple[int, int] | None:
        """Of several GPUs that the process may use, the one at its local rank, as frameworks assign them."""
        for each in self._neighbours(rank):
            indices = self.gpu_indices.get(each, ())
            if indices:
                local_rank = self.local_ranks.get(rank) or 0
                return each, indices[local_rank] if local_rank < len(indices) else indices[0]
        return None

    def _neighbours(self, rank: int) -> list[int]:
        """The rank itself, then the other ranks on its host."""
        hostname = self.hostnames.get(rank)
        others = [each for each, name in self.hostnames.items() if name == hostname and each != rank]
        return [rank, *(others if hostname is not None else [])]


def read_samplers(reader: Reader, run_id: str) -> Samplers:
    ranks = reader.connection.execute(_RANKS, {"run_id": run_id}).all()
    known = reader.known_lanes(run_id)
    lanes = (
        [(rank, lane) for rank, lane in reader.connection.execute(_SAMPLED, {"run_id": run_id})]
        if known is None
        else [(rank, lane) for rank, lane in known if kind_of(lane) in (HOST, "gpu")]
    )
    gpu_indices: dict[int, list[int]] = defaultdict(list)
    for rank, lane in lanes:
        if lane != HOST:
            gpu_indices[rank].append(int(lane.partition(":")[2]))
    return Samplers(
        hostnames={each.rank: each.hostname for each in ranks},
        local_ranks={each.rank: each.local_rank for each in ranks},
        sampling_hosts=[rank for rank, lane in lanes if lane == HOST],
        gpu_indices={rank: sorted(indices) for rank, indices in gpu_indices.items()},
    )
