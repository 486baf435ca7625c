"""Candidates where no service proposes any: as many workers as the measured load needs, and what lies beside that.

Where training waits, all workers load all the time, so the mean load of a batch is the step times their number. With N
workers a batch comes each Nth of that; more than the rest of a step needs gain nothing. Loading that computes has no
more than the cores; loading that waits may use more workers than that, so twice the cores are tried last.
"""

from __future__ import annotations

import math

from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.search import Candidate

MOST = 5
DEEPER = 4
"""Batches ahead of each worker that even out loads of different length."""


def plain_candidates(present: LoaderSetting, step_ns: float, wait_ns: float, cores: float) -> list[Candidate]:
    """The most promising first. ``cores``: that this process may use."""
    work_ns = max(step_ns - wait_ns, 1e6)
    load_ns = wait_ns if not present.num_workers else step_ns * present.num_workers
    needed, most = math.ceil(load_ns / work_ns), max(1, math.floor(cores))
    counts = [min(needed, most), most, needed if needed <= 2 * most else 2 * most, max(1, min(needed, most) // 2)]
    settings = [present.changed({"num_workers": count}) for count in counts]
    if present.num_workers:
        settings.append(present.changed({"prefetch_factor": max(DEEPER, 2 * (present.prefetch_factor or 2))}))
    different = [each for each in dict.fromkeys(settings) if each != present]
    return [Candidate(each) for each in different[:MOST]]
