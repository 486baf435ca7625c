"""Samples of a host and of the ranks on it, as an agent would post them: given cores and bytes in every second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.app.made_windows import LOADER, RUN, made_window

FACTS = {
    "cpu_count": 8, "allowed_cpus": 8, "usable_cores": 8.0, "memory_total_bytes": 64 << 30,
    "shm_total_bytes": 32 << 30,
}  # fmt: skip
READ_PER_S, SENT_PER_S = 100_000_000, 2_000_000


def made_samples(
    run_id: str, *, seconds: int = 20, rank: int = 0, cores: float = 2.0, busy: float = 3.0, samples_host: bool = True,
    started_at: str = "2026-11-20T10:00:00Z", **said: Any,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """A window a second: ``cores`` used by this rank's processes, half of them by workers, ``busy`` by anyone."""
    for second in range(seconds):
        at_us, cpu_us = 1_000_000 * second, round(500_000 * cores * second)
        window = made_window(second, run_id=run_id, rank=rank, started_at=started_at)
        if second == 0:
            window |= {"run": RUN | {"host": FACTS, "not_measured": {}} | said, "loaders": [LOADER]}
        window["process"] = {"at_us": [at_us], "process_cpu_us": [cpu_us], "workers_cpu_us": [cpu_us]}
        if samples_host:
            window["host"] = {
                "at_us": [at_us],
                "busy_cores": [busy if second else None],
                "memory_available_bytes": [48 << 30],
                "shm_free_bytes": [24 << 30],
                "disk_read_bytes": [READ_PER_S * second],
                "network_sent_bytes": [SENT_PER_S * second],
            }
        yield window
