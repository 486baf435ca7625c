"""How much of a machine advice may take, and which settings are tried: each bound with its reason and source."""

from __future__ import annotations

MOST_WORKERS = 64
"""Beyond this the round robin of one training thread is the limit (Lotus: gains flatten beyond about 20)."""

WORKERS_A_CORE_WHEN_BLOCKED = 4
"""Workers that mostly wait for storage may outnumber the cores; CPU-bound ones may not."""

LONGER_PREFETCH_FACTORS = (4, 8)
"""Twice and four times torch's default of 2: beyond, memory grows and the study saw no further gain."""

SHM_FRACTION = 0.5
"""Of the free /dev/shm that prefetched batches may fill: others use it too, and a full one kills the run."""

MEMORY_FRACTION = 0.5
"""Of the memory that is left, what more workers and batches may take: workers grow, and files that are read are
cached in what is left."""

OPEN_FILES_FRACTION = 0.9
"""Of the limit on open files, what may be open: the program opens its own, too."""

FILES_A_WORKER = 5
"""Pipes and sentinels that the training process keeps open for each (5 counted, torch 2.13)."""
