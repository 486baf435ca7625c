"""One run of the team: what its agents know of it, and how each of its ranks trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.gallery.loop import Load, Pace

GIB = 2**30


@dataclass(frozen=True, slots=True)
class Machine:
    hostname: str
    cores: int = 96
    gpu: str | None = "NVIDIA A100-SXM4-80GB"
    gpus: int = 8
    memory_gib: int = 1_024
    shm_gib: int = 512
    cpu_model: str = "AMD EPYC 7763 64-Core Processor"

    def facts(self) -> dict[str, Any]:
        return {
            "cpu_model": self.cpu_model,
            "cpu_count": self.cores,
            "allowed_cpus": self.cores,
            "usable_cores": float(self.cores),
            "memory_total_bytes": self.memory_gib * GIB,
            "memory_available_bytes": self.memory_gib * GIB * 3 // 4,
            "swap_total_bytes": 0,
            "shm_total_bytes": self.shm_gib * GIB,
            "shm_free_bytes": self.shm_gib * GIB * 9 // 10,
            "open_files_limit": 1_048_576,
            "numa_nodes": 2,
            "gpu_driver": "580.95.05" if self.gpu else None,
            "cpu_slowdown": [[1.0, 1.0], [float(self.cores) / 2, 1.05], [float(self.cores), 1.5]],
            "handover": {
                "receive_us": 300.0,
                "receive_wait_us": 150.0,
                "tensor_us": 60.0,
                "tensor_wait_us": 90.0,
                "write_tensor_us": 40.0,
                "write_mb_us": 250.0,
                "free_mb_us": 60.0,
            },
        }

    def devices(self) -> list[dict[str, Any]]:
        if self.gpu is None:
            return []
        return [
            {"gpu_index": index, "uuid": f"GPU-{self.hostname}-{index}", "name": self.gpu}
            | {"memory_total_bytes": 80 * GIB}
            for index in range(self.gpus)
        ]


@dataclass(frozen=True, slots=True)
class Job:
    """``hours`` of training that ended ``ended_h`` hours ago; 0: it still runs."""

    name: str
    machines: Sequence[Machine]
    phases: Sequence[tuple[int, Pace]]
    """Epochs of so many steps, each at a pace."""
    user: str
    project: str = "vision"
    tags: Mapping[str, str] = field(default_factory=dict)
    ended_h: float = 0.0
    ranks_a_host: int = 2
    paces_of_ranks: Mapping[int, Sequence[tuple[int, Pace]]] = field(default_factory=dict)
    """Pace of ranks that differ from the others."""
    busy_cores: float = 20.0
    batch_size: int = 256
    end: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    loader: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    mount: Mapping[str, Any] | None = None
    read_share: float = 0.0
    """Share of the bytes asked for that is read from storage."""
    died: bool = False
    """Two workers die in the last epoch."""
    steps_known: bool = True

    @property
    def run_id(self) -> str:
        return str(self.run.get("run_id", self.name))

    @property
    def is_live(self) -> bool:
        return self.end is None and self.ended_h == 0.0

    @property
    def has_gpu(self) -> bool:
        return self.machines[0].gpu is not None

    def first_pace(self) -> Pace:
        return self.phases[0][1] if self.phases else Pace(Load())
