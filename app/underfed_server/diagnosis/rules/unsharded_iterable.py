"""``unsharded_iterable``: every worker goes through the whole iterable data set, so samples are loaded several times.

It is told of every run: a loop that does not wait trains on each sample as many times an epoch as there are workers.
"""

from __future__ import annotations

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    loader = judged.loader
    if loader is None or not loader.is_iterable or judged.workers < 2:
        return None
    compared, repeated = loader.compared_batches, loader.repeated_batches
    if not compared or repeated is None or repeated < limits.repeated_fraction * compared:
        return None
    # Of as many copies as there are workers, one is needed.
    surplus = repeated / compared * (1 - 1 / judged.workers)
    return CauseFinding(
        cause="unsharded_iterable",
        cost_fraction=min(judged.loading_left, judged.wait.loading * surplus),
        sentence=f"Each of the {judged.workers} workers loads the whole data set: its batches come several times.",
        evidence=[
            Evidence(what="Batches of several workers that were compared", value=compared, unit="count"),
            Evidence(what="Of these also given by another worker", value=repeated, unit="count"),
            Evidence(what="num_workers", value=str(judged.workers), unit="setting"),
            Evidence(what="The data set's code", value=loader.why_unsharded, unit="setting"),
        ],
    )
