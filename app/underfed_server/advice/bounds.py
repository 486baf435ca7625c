"""Every bound of what is advised, with its reason and source. Those of the verdict are in ``diagnosis/limits``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Fractions are of step time unless the name says otherwise."""

    most_workers: int = 64
    """Beyond this the round robin of one training thread is the limit (Lotus: gains flatten beyond about 20)."""

    workers_a_core_when_blocked: int = 4
    """Workers that mostly wait for storage may outnumber the cores; CPU-bound ones may not."""

    longer_prefetch_factors: tuple[int, ...] = (4, 8)
    """Twice and four times torch's default of 2: beyond, memory grows and the study saw no further gain."""

    shm_fraction: float = 0.5
    """Of the free /dev/shm that prefetched batches may fill: others use it too, and a full one kills the run."""

    memory_fraction: float = 0.5
    """Of the memory that is left, what more workers and batches may take: workers grow, and files that are read are
    cached in what is left."""

    tmpfs_fraction: float = 0.8
    """Of the memory that is left, what the data set may fill: the rest is for workers that grow, and the page cache."""

    open_files_fraction: float = 0.9
    """Of the limit on open files, what may be open: the program opens its own, too."""

    files_a_worker: int = 5
    """Pipes and sentinels that the training process keeps open for each (5 counted, torch 2.13)."""

    least_read_bytes: int = 64 << 10
    """For one batch, from which a loader reads its data from files: less are the pipes that its indices come by."""

    exposed_copy_fraction: float = 0.05
    """Exposed copies below it are not worth a change: the same 5 % from which a change is advised."""

    tiny_tensors: int = 1_000
    tiny_tensor_bytes: int = 64 << 10
    """In a batch, so many so small: each is page-locked by a call of its own, which costs more than it saves."""

    small_sample_us: float = 100.0
    """CPU time of one sample below which calling Python for each is the work: an index into an array in memory takes
    5–50 µs, decoding a small JPEG a millisecond."""

    many_samples: int = 32
    """In a batch, from which one call for all of them saves calls worth saving."""


BOUNDS = Bounds()
